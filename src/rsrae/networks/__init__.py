"""Encoders and decoders: the dense engine with gradients by hand, and torch modules through autograd."""
