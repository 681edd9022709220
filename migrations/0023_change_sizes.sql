-- +goose Up

ALTER TABLE attempts ADD COLUMN changed_files integer, ADD COLUMN changed_lines integer;
COMMENT ON COLUMN attempts.changed_files IS 'Number of files that the pull request changed when the work of the attempt was published. Null: not published, or not counted.';
COMMENT ON COLUMN attempts.changed_lines IS 'Added and deleted lines of these files together. Null: as changed_files.';
