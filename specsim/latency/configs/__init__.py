"""What a Hugging Face config.json says of a decoder: read by the fields that its model_type is known to have."""
