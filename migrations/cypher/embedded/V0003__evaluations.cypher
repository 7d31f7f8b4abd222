// Evaluations of models, on the version that they were answered with.
CREATE NODE TABLE Evaluation(
    id STRING PRIMARY KEY, version STRING, model STRING, n_samples INT64, diameter DOUBLE, verdict STRING,
    error DOUBLE, error_low DOUBLE, error_high DOUBLE,
    error_argmax DOUBLE, error_argmax_low DOUBLE, error_argmax_high DOUBLE, error_constant DOUBLE,
    gain DOUBLE, gain_low DOUBLE, gain_high DOUBLE,
    accuracy DOUBLE, accuracy_argmax DOUBLE
);
CREATE REL TABLE OF(FROM Evaluation TO Version);
ALTER TABLE PRODUCED ADD FROM Job TO Evaluation;
