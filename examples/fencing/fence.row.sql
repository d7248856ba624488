-- One row with a column of its own for the token, in any SQL. The statement is check
-- and write in one. It changes one row: written; none: refused. The token is bound
-- as an integer of 64 bits; the last line refuses what is none. docs/fencing.md

UPDATE orders SET state = :state, token = :token
    WHERE id = 42 AND token <= :token
    AND :token BETWEEN 1 AND 9223372036854775807;
