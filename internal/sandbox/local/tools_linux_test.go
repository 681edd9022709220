package local_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/sandbox"
	"github.com/omoi-dev/omoi/internal/sandbox/local"
)

func TestPrograms(t *testing.T) {
	t.Parallel()
	needWrap(t)
	open, closed := filepath.Join(filepath.Dir(newRoot(t)), "tool"), filepath.Join(t.TempDir(), "tool")
	for _, path := range []string{open, closed} {
		require.NoError(t, os.WriteFile(path, []byte("#!/bin/sh\necho found\n"), 0o755))
	}
	p, labels := ensure(t, local.Config{Root: newRoot(t), Isolation: local.IsolationRequire, Programs: []string{open, closed, "/nonexistent"}}, sandbox.Spec{})
	out, code := run(t, p, labels, open)
	require.Zero(t, code, out)
	require.Equal(t, "found\n", out)
	_, code = run(t, p, labels, "sh", "-c", "echo x >> "+open)
	require.NotZero(t, code, "it is read-only")
}

// TestIsolation_CommonToolsWork runs common tools of agents in a sandbox, which the isolation must not break.
func TestIsolation_CommonToolsWork(t *testing.T) {
	t.Parallel()
	needWrap(t)
	p, labels := ensure(t, local.Config{Root: newRoot(t), Isolation: local.IsolationRequire}, sandbox.Spec{})
	for program, script := range map[string]string{
		"git": `git init -q r && cd r && git config user.name a && git config user.email a@b && echo x > f && git add . &&
			git commit -qm one && git gc -q && git worktree add -q ../w && git -C ../w log --oneline | grep -q one`,
		"python3": `python3 -c "
import multiprocessing, sqlite3, ssl, subprocess, tempfile, threading
with multiprocessing.Pool(2) as pool: assert pool.map(abs, [-1, -2]) == [1, 2]
sqlite3.connect('db').execute('create table t (a)'); ssl.create_default_context()
assert subprocess.check_output(['echo', 'hi']) == b'hi\n'; tempfile.NamedTemporaryFile().write(b'x')
t = threading.Thread(target=print); t.start(); t.join()"`,
		"node": `node -e "
const fs = require('fs/promises'), {execSync} = require('child_process'), {Worker} = require('worker_threads'), http = require('http')
const s = http.createServer((q, r) => r.end('ok')).listen(0, '127.0.0.1', async () => {
  await fs.writeFile('n', 'x'); execSync('true'); new Worker('1', {eval: true})
  const r = await fetch('http://127.0.0.1:' + s.address().port); if (await r.text() !== 'ok') process.exit(1)
  process.exit(0) })"`,
		"awk":   `echo 1 2 | awk '{ exit $1 + $2 - 3 }'`,
		"tar":   `mkdir -p a/b && chmod 2755 a && tar cf x.tar a && rm -r a && tar xpf x.tar && test -d a/b`,
		"flock": `flock lock true`,
	} {
		t.Run(program, func(t *testing.T) {
			t.Parallel()
			if _, code := run(t, p, labels, "sh", "-c", "command -v "+program); code != 0 {
				t.Skip("SKIPPED: it is not installed here")
			}
			out, code := run(t, p, labels, "sh", "-c", "mkdir -p in-"+program+" && cd in-"+program+" && "+script)
			require.Zero(t, code, out)
		})
	}
}
