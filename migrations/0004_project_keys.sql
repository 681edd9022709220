-- +goose Up

-- Keys: APP of a project, APP-T7 of a ticket (0005), APP-12 of a task (0006). Programs of older builds run meanwhile: they insert rows
-- without keys, so triggers set the keys, and each step locks the table that it changes only, so no transaction of theirs ends in a deadlock.

ALTER TABLE projects ADD COLUMN key text;
COMMENT ON COLUMN projects.key IS 'Short name in capitals, fixed at creation, unique in the organization. A deleted project keeps its key.';
CREATE UNIQUE INDEX projects_key ON projects (organization_id, key);

-- omoi_project_key returns a free key for a project of that name: its letters and digits in capitals, from the first letter, 10 at most,
-- or TASK if fewer than 2 are left; with a number if another project of the organization has the key.
-- +goose StatementBegin
CREATE FUNCTION omoi_project_key(org uuid, name text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    base text := left(ltrim(regexp_replace(upper(name COLLATE "C"), '[^A-Z0-9]', '', 'g'), '0123456789'), 10);
    free text;
    n    integer := 1;
BEGIN
    base := CASE WHEN length(base) < 2 THEN 'TASK' ELSE base END;
    free := base;
    WHILE EXISTS (SELECT FROM projects p WHERE p.organization_id = org AND p.key = free) LOOP
        n := n + 1;
        free := left(base, 10 - length(n::text)) || n;
    END LOOP;
    RETURN free;
END $$;
-- +goose StatementEnd

-- omoi_set_project_key gives a new project a key unless its creator chose one. Projects of an organization get keys one after the other.
-- +goose StatementBegin
CREATE FUNCTION omoi_set_project_key() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM pg_advisory_xact_lock(hashtextextended('omoi project keys ' || NEW.organization_id, 0));
    NEW.key := coalesce(NEW.key, omoi_project_key(NEW.organization_id, NEW.name));
    RETURN NEW;
END $$;
-- +goose StatementEnd

-- +goose StatementBegin
DO $$
DECLARE
    p record;
BEGIN
    FOR p IN SELECT id, organization_id, name FROM projects ORDER BY created_at, id LOOP
        UPDATE projects SET key = omoi_project_key(p.organization_id, p.name) WHERE id = p.id;
    END LOOP;
END $$;
-- +goose StatementEnd

ALTER TABLE projects ALTER COLUMN key SET NOT NULL, ADD CONSTRAINT projects_key_form CHECK (key ~ '^[A-Z][A-Z0-9]{1,9}$');
CREATE TRIGGER project_key BEFORE INSERT ON projects FOR EACH ROW EXECUTE FUNCTION omoi_set_project_key();
