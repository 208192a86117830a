"""The CUDA backend: kernels, their layout on the device, and the class that launches them."""
