-- The jobs of a large sweep follow a change of its state or priority in slices, each in a transaction of its own: from which position on
-- they do not follow it yet. NULL: all of them do. A scheduler that finds such a sweep when it starts goes on with it.
ALTER TABLE sweeps ADD COLUMN unsettled_from INTEGER CHECK (unsettled_from >= 0);
