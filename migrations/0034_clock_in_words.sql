-- What is said of the clock is true of tasks, whose clock runs from when they were asked for, and of projects, whose clock
-- runs from when they were made.

-- +goose Up
-- +goose StatementBegin
CREATE OR REPLACE FUNCTION omoi_in_words(what text, used float8, most float8) RETURNS text LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE what WHEN 'usd' THEN format('%s of %s USD', round(used::numeric, 2), round(most::numeric, 2))
        WHEN 'tokens' THEN format('%s of %s tokens', round(used), round(most))
        WHEN 'sandbox_s' THEN format('%s of %s seconds of sandboxes', round(used), round(most))
        ELSE format('%s of %s seconds by the clock', round(used), round(most)) END;
$$;
-- +goose StatementEnd

-- +goose Down
-- +goose StatementBegin
CREATE OR REPLACE FUNCTION omoi_in_words(what text, used float8, most float8) RETURNS text LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE what WHEN 'usd' THEN format('%s of %s USD', round(used::numeric, 2), round(most::numeric, 2))
        WHEN 'tokens' THEN format('%s of %s tokens', round(used), round(most))
        WHEN 'sandbox_s' THEN format('%s of %s seconds of sandboxes', round(used), round(most))
        ELSE format('%s of %s seconds since it was asked for', round(used), round(most)) END;
$$;
-- +goose StatementEnd
