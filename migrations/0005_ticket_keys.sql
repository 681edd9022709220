-- +goose Up

CREATE TABLE project_numbers (
    project_id  uuid NOT NULL,
    kind        text NOT NULL,
    last        integer NOT NULL,
    PRIMARY KEY (project_id, kind)
);
COMMENT ON TABLE project_numbers IS 'The tickets or the tasks of one project. The insert of a ticket or task locks the row until the transaction ends, '
    'so that numbers are distinct.';
COMMENT ON COLUMN project_numbers.kind IS 'tickets or tasks.';
COMMENT ON COLUMN project_numbers.last IS 'Highest number that a ticket or task of the project has, or had.';

-- omoi_set_key gives a new ticket or task the next number of its project; the argument of the trigger stands before the number.
-- +goose StatementBegin
CREATE FUNCTION omoi_set_key() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    number integer;
BEGIN
    INSERT INTO project_numbers AS n (project_id, kind, last) VALUES (NEW.project_id, TG_TABLE_NAME, 1)
    ON CONFLICT (project_id, kind) DO UPDATE SET last = n.last + 1
    RETURNING n.last INTO number;
    SELECT p.key || TG_ARGV[0] || number INTO NEW.key FROM projects p WHERE p.id = NEW.project_id;
    RETURN NEW;
END $$;
-- +goose StatementEnd

ALTER TABLE tickets ADD COLUMN key text;
COMMENT ON COLUMN tickets.key IS 'Key of the project, -T and the number of the ticket in the project.';
UPDATE tickets k SET key = p.key || '-T' || n.number
FROM (SELECT id, row_number() OVER (PARTITION BY project_id ORDER BY created_at, id) AS number FROM tickets) n, projects p
WHERE n.id = k.id AND p.id = k.project_id;
INSERT INTO project_numbers (project_id, kind, last) SELECT project_id, 'tickets', count(*) FROM tickets GROUP BY project_id;
ALTER TABLE tickets ALTER COLUMN key SET NOT NULL;
CREATE UNIQUE INDEX tickets_key ON tickets (project_id, key);
CREATE TRIGGER ticket_key BEFORE INSERT ON tickets FOR EACH ROW EXECUTE FUNCTION omoi_set_key('-T');
