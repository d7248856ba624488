-- PostgreSQL 9.5 or later. For each resource the greatest fencing token seen; a
-- transaction with a smaller one fails with SQLSTATE HF001. docs/fencing.md
--
--     BEGIN;
--     SELECT fence_check('order:42', 7);    -- first: then it has the resource
--     UPDATE ...;                           -- any tables, any number of rows
--     COMMIT;

CREATE TABLE fence (
    resource text PRIMARY KEY,
    token bigint NOT NULL CHECK (token > 0)
);

CREATE FUNCTION fence_check(which text, offered bigint) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO fence AS seen VALUES (which, offered)
    ON CONFLICT (resource) DO UPDATE SET token = excluded.token
        WHERE seen.token <= excluded.token;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'fencing token % of % is too old', offered, which
            USING ERRCODE = 'HF001';
    END IF;
END $$;
