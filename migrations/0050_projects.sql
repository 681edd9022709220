-- +goose Up

-- A deleted project keeps its row: tasks, receipts and costs refer to it.
ALTER TABLE projects ADD COLUMN deleted_at timestamptz;
DROP INDEX projects_repo;
CREATE UNIQUE INDEX projects_repo ON projects (organization_id, repo) WHERE repo <> '' AND deleted_at IS NULL;

-- Names are unique in an organization. The oldest project keeps its name, the others get a number.
-- +goose StatementBegin
DO $$
DECLARE
    twin record;
    n integer;
BEGIN
    FOR twin IN SELECT id, organization_id, name FROM projects p
        WHERE EXISTS (SELECT FROM projects o WHERE o.organization_id = p.organization_id AND o.name = p.name
            AND (o.created_at, o.id) < (p.created_at, p.id))
        ORDER BY created_at, id
    LOOP
        n := 2;
        WHILE EXISTS (SELECT FROM projects WHERE organization_id = twin.organization_id AND name = twin.name || '-' || n) LOOP
            n := n + 1;
        END LOOP;
        UPDATE projects SET name = twin.name || '-' || n WHERE id = twin.id;
    END LOOP;
END $$;
-- +goose StatementEnd
CREATE UNIQUE INDEX projects_name ON projects (organization_id, name) WHERE deleted_at IS NULL;

-- +goose Down

DROP INDEX projects_name, projects_repo;
-- The index of the Up of the first migration has no room for deleted projects of a repository.
UPDATE projects SET repo = '' WHERE deleted_at IS NOT NULL;
CREATE UNIQUE INDEX projects_repo ON projects (organization_id, repo) WHERE repo <> '';
ALTER TABLE projects DROP COLUMN deleted_at;
