"""Requests that arrive at a rate: what they wait for, in closed form and event by event."""
