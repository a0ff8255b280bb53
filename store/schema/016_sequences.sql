-- Views only: pairs of sequences are scored by accuracy, as algorithmic tasks are.
DROP VIEW main_metrics;

-- The metric that the score of a job is, over all lengths, by its experiment kind.
CREATE VIEW main_metrics(experiment, metric) AS
VALUES ('algorithmic', 'accuracy'), ('images', 'cross_entropy'), ('language', 'cross_entropy'), ('llama', 'perplexity'), ('noop', 'echo'),
       ('sequences', 'accuracy');
