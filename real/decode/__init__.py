"""The decode loop: drafting, verification, rollback; plain decoding is the same loop without drafts."""
