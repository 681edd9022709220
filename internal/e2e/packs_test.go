package e2e_test

import (
	"maps"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/task"
	"github.com/omoi-dev/omoi/internal/testkit/objects"
)

// TestPacks_AttemptContinuesFromAnObjectStore loses the disk of a sandbox whose packs are in a folder outside the database, once all of
// them and once none of them can be read.
func TestPacks_AttemptContinuesFromAnObjectStore(t *testing.T) {
	t.Parallel()
	packs := t.TempDir()
	r := newRig(t, map[string]string{"OMOI_CHECKPOINT_INTERVAL": "100ms", "OMOI_CHECKPOINT_STORE": "file://" + packs}).up()
	repo := r.repo()
	for _, damaged := range []bool{false, true} {
		made := r.submit(repo, command(leavesWork, `,"continuous":false`), asCommand, retries(1))
		r.keptIn(made.ID)
		r.movedIn(made.ID)
		if damaged {
			stored, err := filepath.Glob(packs + "/" + made.ID + "-*.pack")
			require.NoError(t, err)
			require.NotEmpty(t, stored)
			for _, object := range stored {
				require.NoError(t, os.Truncate(object, 10))
			}
		}
		r.loseDisk(made.ID)
		if !damaged {
			r.restoredIn(made.ID, "its packs are objects")
			require.Contains(t, r.omoi("storage").stdout, "in checkpoint.store")
			continue
		}
		got := r.until(made.ID, "begins again", func(t task.Task) bool { return t.AttemptCount == 2 && t.Attempts[1].SandboxID != "" })
		box := got.Attempts[1].SandboxID
		r.eventually("the loss is reported", func() bool { return r.stored(box, "agent.restore_failed") == 1 })
		require.Zero(t, r.stored(box, "agent.restored"))
		require.Zero(t, r.omoi("cancel", made.ID).code)
		r.ends(made.ID, task.StatusCancelled)
	}
	r.noLeaks()
}

// movedIn waits until all packs of a task are objects.
func (r *rig) movedIn(id string) {
	r.t.Helper()
	r.eventually("all packs are objects", func() bool {
		return r.count(`SELECT count(*) FROM checkpoints WHERE task_id = $1 AND pack_bytes > 0 AND (pack_object IS NULL OR sealed_at IS NULL)`, id) == 0
	})
}

// loseDisk ends a sandbox, and removes what is on its disk.
func (r *rig) loseDisk(id string) {
	r.t.Helper()
	running := r.task(id)
	r.killSandbox(running)
	require.NoError(r.t, os.RemoveAll(filepath.Join(r.env["OMOI_SANDBOX_DIR"], sandboxFolder(running))))
}

// TestPacks_AttemptContinuesFromAnS3Server is the same with an S3-compatible server.
func TestPacks_AttemptContinuesFromAnS3Server(t *testing.T) {
	t.Parallel()
	env := map[string]string{
		"OMOI_CHECKPOINT_INTERVAL": "100ms", "OMOI_CHECKPOINT_STORE": "s3://packs/of/omoi?region=us-east-1&endpoint=" + objects.Start(t),
	}
	maps.Copy(env, objects.Environ())
	r := newRig(t, env).up()
	made := r.submit(r.repo(), command(leavesWork, `,"continuous":false`), asCommand, retries(1))
	r.keptIn(made.ID)
	r.movedIn(made.ID)
	require.Positive(t, r.count(`SELECT count(*) FROM checkpoints WHERE task_id = $1 AND pack_object IS NOT NULL`, made.ID))
	require.Zero(t, r.count(`SELECT count(*) FROM checkpoint_chunks WHERE task_id = $1`, made.ID))
	r.loseDisk(made.ID)
	r.restoredIn(made.ID, "its packs are objects")
	r.noLeaks()
}
