-- SQLite 3.24 or later. For each resource the greatest fencing token seen; the
-- statement that brings a smaller one fails. docs/fencing.md
--
--     BEGIN IMMEDIATE;
--     INSERT INTO fence VALUES ('order:42', 7)
--         ON CONFLICT (resource) DO UPDATE SET token = excluded.token;
--     UPDATE ...;                           -- any tables, any number of rows
--     COMMIT;
--
-- If that INSERT fails, ROLLBACK: SQLite itself would go on with the UPDATE.

CREATE TABLE fence (
    resource TEXT PRIMARY KEY,
    token INTEGER NOT NULL CHECK (typeof(token) = 'integer' AND token > 0)
);

CREATE TRIGGER fence_check BEFORE UPDATE ON fence WHEN NEW.token < OLD.token
BEGIN
    SELECT RAISE(ABORT, 'fencing token is too old');
END;
