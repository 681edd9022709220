package e2e_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	apiclient "github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/task"
)

// TestFullDiskForTheSpool lets an agent fill the disk that its spool is on, and free it
// again: no event is lost, and the task completes.
func TestFullDiskForTheSpool(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("SKIPPED: only root can mount a small file system")
	}
	r := newRig(t, nil)
	r.smallDisk("64m")
	r.up()
	repo := r.repo()
	made := r.submit(repo, script(`{"flood":{"events":20,"bytes":500}}`,
		`{"bash":{"command":"dd if=/dev/zero of=fill bs=64k 2>/dev/null; dd if=/dev/zero of=fill2 bs=512 2>/dev/null; sleep 1"}}`,
		`{"flood":{"events":300,"bytes":500}}`, `{"bash":{"command":"rm -f fill fill2"}}`, stepWrite, stepCommit, stepComplete))
	got := r.ends(made.ID, task.StatusCompleted)
	require.Equal(t, 1, got.AttemptCount)
	require.Equal(t, "hello\n", r.run("git", "-C", repo, "show", text(got.Branch)+":hello.txt").stdout)
	r.noLeaks()
	r.gapless()
	require.GreaterOrEqual(t, got.Attempts[0].Events, int64(320), "events were lost")
}

// smallDisk puts the sandboxes on a file system of their own.
func (r *rig) smallDisk(size string) {
	r.t.Helper()
	dir := r.env["OMOI_SANDBOX_DIR"]
	require.NoError(r.t, os.MkdirAll(dir, 0o755))
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size="+size+",mode=755"); err != nil {
		r.t.Skip("SKIPPED: this root cannot mount: ", err)
	}
	r.t.Cleanup(func() { _ = syscall.Unmount(dir, syscall.MNT_DETACH) })
}

// TestHostileWorkspace leaves in the workspace what could make a careless host read, run or
// hang: salvage and delete are not disturbed, and nothing of the host gets into the rescue.
func TestHostileWorkspace(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil).up()
	repo := r.repo()
	secret := filepath.Join(r.dir, "host-secret")
	require.NoError(t, os.WriteFile(secret, []byte("a secret of the host"), 0o600))
	touched := filepath.Join(r.dir, "touched")
	hostile := strings.Join([]string{
		`ln -s ` + secret + ` stolen`, `ln -s / root`, `ln -s ring ./ring`, `mkfifo pipe`, `cp /bin/sh suid`, `chmod 6755 suid`,
		`mkdir -p locked/in`, `touch locked/in/file`, `chmod 0 locked/in locked`,
		`printf '#!/bin/sh\ntouch ` + touched + `\n' > .git/hooks/pre-commit`, `chmod +x .git/hooks/pre-commit`,
		`git config core.fsmonitor 'touch ` + touched + `'`, `touch -- -rf`,
		`(i=0; while [ $i -lt 60 ]; do mkdir d && cd d || break; i=$((i+1)); done; touch bottom)`, `true`,
	}, "; ")
	command, err := json.Marshal(hostile)
	require.NoError(t, err)
	made := r.submit(repo, script(stepWrite, `{"bash":{"command":`+string(command)+`}}`, stepHang))
	r.running(made.ID)
	r.until(made.ID, "has done its worst", func(task.Task) bool {
		return r.count(`SELECT count(*) FROM sandbox_events WHERE event_type = 'agent.tool_completed'`) >= 2
	})
	_, _, err = r.api.Cancel(context.Background(), made.ID, "enough")
	require.NoError(t, err)
	r.ends(made.ID, task.StatusCancelled)
	r.noLeaks()
	saved := r.task(made.ID).Attempts[0].Salvage
	require.Equal(t, task.SalvageRef, saved.Kind)
	require.Equal(t, "hello\n", r.run("git", "-C", repo, "show", saved.Ref+":hello.txt").stdout)
	tree := r.run("git", "-C", repo, "ls-tree", "-r", saved.Ref).stdout
	require.Regexp(t, `(?m)^120000 .*\tstolen$`, tree, "a link is saved as a link")
	require.NotContains(t, tree, "\troot/")
	require.Equal(t, secret, r.run("git", "-C", repo, "show", saved.Ref+":stolen").stdout)
	require.NoFileExists(t, touched, "the host ran what the workspace named")
	require.FileExists(t, secret)
}

// TestForeignSandboxOfOurName puts a sandbox of another installation where ours would be
// made: it is neither adopted nor deleted, and the task goes on in the next one.
func TestForeignSandboxOfOurName(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil).up()
	repo := r.repo()
	pattern := r.submit(repo, script(stepWrite, stepHang))
	model := filepath.Join(r.env["OMOI_SANDBOX_DIR"], task.SandboxNamePrefix+text(r.running(pattern.ID).SandboxID))

	id, box := r.intended(repo)
	foreign := filepath.Join(r.env["OMOI_SANDBOX_DIR"], task.SandboxNamePrefix+box)
	r.forge(model, foreign)
	require.NoError(t, r.procs["worker"].cmd.Process.Signal(syscall.SIGCONT))
	got := r.ends(id, task.StatusCompleted)
	require.Equal(t, 2, got.AttemptCount, "%+v", got.Attempts)
	require.Equal(t, box, got.Attempts[0].SandboxID)
	require.Equal(t, task.ClassInfrastructure, got.Attempts[0].FailureClass)
	require.FileExists(t, filepath.Join(foreign, "ws", "theirs.txt"), "the foreign sandbox was touched")
	r.eventually("ours is verified gone", func() bool {
		return r.count(`SELECT count(*) FROM sandboxes WHERE id = $1 AND verified_at IS NOT NULL AND state = 'gone'`, box) == 1
	})
	require.FileExists(t, filepath.Join(foreign, "ws", "theirs.txt"), "the foreign sandbox was deleted")
	require.NoError(t, os.RemoveAll(foreign))
	_, _, err := r.api.Cancel(context.Background(), pattern.ID, "seen")
	require.NoError(t, err)
	r.ends(pattern.ID, task.StatusCancelled)
	r.noLeaks()
}

// intended submits tasks until the worker could be stopped between the intent of a sandbox
// and its making; it answers that task and sandbox, with the worker stopped.
func (r *rig) intended(repo string) (id, box string) {
	r.t.Helper()
	worker := r.procs["worker"].cmd.Process
	for range 40 {
		made := r.submit(repo, script(stepWrite, stepCommit, stepComplete), func(in *apiclient.CreateTaskRequest) { in.Title = "meets a stranger" })
		for end := time.Now().Add(patience); time.Now().Before(end); { // as often as it goes
			if r.pool.QueryRow(context.Background(), `SELECT id FROM sandboxes WHERE task_id = $1`, made.ID).Scan(&box) == nil {
				break
			}
		}
		require.NoError(r.t, worker.Signal(syscall.SIGSTOP))
		state := r.count(`SELECT count(*) FROM sandboxes WHERE id = $1 AND state = 'intended'`, box)
		_, err := os.Stat(filepath.Join(r.env["OMOI_SANDBOX_DIR"], task.SandboxNamePrefix+box))
		if state == 1 && os.IsNotExist(err) {
			return made.ID, box
		}
		require.NoError(r.t, worker.Signal(syscall.SIGCONT))
		r.ends(made.ID, task.StatusCompleted)
	}
	r.t.Skip("SKIPPED: the worker was never caught between intent and making")
	return "", ""
}

// forge makes a sandbox as another installation would have it.
func (r *rig) forge(model, foreign string) {
	r.t.Helper()
	raw, err := os.ReadFile(filepath.Join(model, "labels.json"))
	require.NoError(r.t, err)
	var meta map[string]any
	require.NoError(r.t, json.Unmarshal(raw, &meta))
	labels, ok := meta["labels"].(map[string]any)
	require.True(r.t, ok)
	require.Contains(r.t, labels, "installation")
	labels["installation"] = "theirs"
	raw, err = json.Marshal(meta)
	require.NoError(r.t, err)
	require.NoError(r.t, os.MkdirAll(filepath.Join(foreign, "ws"), 0o755))
	require.NoError(r.t, os.WriteFile(filepath.Join(foreign, "labels.json"), raw, 0o600))
	require.NoError(r.t, os.WriteFile(filepath.Join(foreign, "ws", "theirs.txt"), []byte("theirs"), 0o600))
}
