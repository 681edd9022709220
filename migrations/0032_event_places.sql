-- +goose Up

-- Where the events of a type are among the numbers of a sandbox: one row for each block of 1000
-- numbers that has any. Made by readers, of whole blocks, as event_counts is: posts pay nothing
-- for it. The type '' stands for all events but heartbeats.
CREATE TABLE event_places (
    sandbox_id  text NOT NULL REFERENCES sandboxes ON DELETE CASCADE,
    event_type  text NOT NULL,
    block       bigint NOT NULL,            -- holds the numbers 1000 * block + 1 .. 1000 * block + 1000
    before      bigint NOT NULL,            -- how many of the type earlier blocks hold; 0 for the type ''
    places      smallint[] NOT NULL,        -- 1..1000 in the block, in their order
    PRIMARY KEY (sandbox_id, event_type, block)
);

-- Counts go to the end of a block from now on; readers make them again.
DELETE FROM event_counts;

-- +goose Down

DROP TABLE event_places;
