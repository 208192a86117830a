import green_tsetlin as gt
import numpy as np

random = np.random.default_rng(0)
X = random.integers(0, 2, (1000, 8), dtype=np.uint8)
y = (X[:, 0] ^ X[:, 1]).astype(np.uint32)

model = gt.TsetlinMachine(
    n_literals=8, n_clauses=20, n_classes=2, s=3.0, threshold=15, literal_budget=4
)
trainer = gt.Trainer(model, seed=1, n_jobs=1, n_epochs=20, early_exit_acc=1.0)
trainer.set_train_data(X[:800], y[:800])
trainer.set_eval_data(X[800:], y[800:])
trainer.train()

predictor = model.get_predictor()
print(np.mean([predictor.predict(x) == t for x, t in zip(X[800:], y[800:])]))
