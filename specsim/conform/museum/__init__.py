"""Small wrong rules and small right ones, so that anybody can see the harness convict and acquit."""
