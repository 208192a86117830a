"""Fitting, continuing and predicting the scikit-learn way; knows no backend."""
