"""Read a decoder's Hugging Face config.json by the fields that its model_type is known to have."""
