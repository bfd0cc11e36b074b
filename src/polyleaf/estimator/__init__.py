"""What every estimator is: declared parameters, one way to fit, regressors and classifiers."""
