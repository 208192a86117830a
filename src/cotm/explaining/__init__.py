"""Why a model predicts what it predicts: what each feature contributes to the votes."""
