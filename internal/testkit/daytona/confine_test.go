package daytona_test

import (
	"bufio"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/task"
	daytonatest "github.com/omoi-dev/omoi/internal/testkit/daytona"
)

// isolations are the kinds that work here.
func isolations(t *testing.T) map[string]daytonatest.Isolation {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("SKIPPED: this looks into /proc")
	}
	return map[string]daytonatest.Isolation{
		"bubblewrap": daytonatest.IsolationAuto, "processes": daytonatest.IsolationNone,
	}
}

// tagged is a number of seconds that no other process sleeps for.
func tagged() string {
	return "9999." + strings.Map(func(r rune) rune { return '0' + r%10 }, task.NewSandboxID())
}

// seen reports whether a process of this machine has text in its command line or, where we
// may look, in its environment.
func seen(t *testing.T, text string) bool {
	t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	require.NoError(t, err)
	for _, file := range files {
		line, _ := os.ReadFile(file) // it may be gone
		if strings.Contains(string(line), text) {
			return true
		}
	}
	return false
}

// tree starts what is hard to end: in sessions of their own, forked twice, deaf to signals.
func tree(tag string) string {
	return `setsid sleep ` + tag + `1 & sh -c 'sh -c "setsid sleep ` + tag + `2 & " & ' ;
		env -i setsid sleep ` + tag + `3 & sh -c 'trap "" TERM INT HUP; while :; do sleep ` + tag + `4; done' & wait`
}

// planted starts the tree and waits until all of it runs.
func (b *bed) planted(toolbox, tag string) {
	b.t.Helper()
	b.send(201, "POST", toolbox+"/process/session", object{"sessionId": "tree"})
	b.exec(toolbox, "tree", tree(tag), true)
	for _, end := range []string{"1", "2", "3", "4"} {
		b.eventually("the whole tree runs", func() bool { return seen(b.t, tag+end) })
	}
}

func TestNothingOutlivesItsSandbox(t *testing.T) {
	t.Parallel()
	for name, isolation := range isolations(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBed(t, daytonatest.Options{Isolation: isolation})
			_, toolbox := b.box(object{"name": "one"})
			tag := tagged()
			b.planted(toolbox, tag)
			b.run(toolbox, `mkdir -p closed/in; chmod 0 closed/in closed; ln -s / root; deep=$(printf 'd/%.0s' $(seq 500)); for i in 1 2 3 4 5; do mkdir -p "$deep" && cd -P "$deep"; done`)
			b.api(200, "POST /sandbox/one/stop", nil)
			b.until("one", "stopped")
			require.False(t, seen(t, tag))
			b.api(200, "POST /sandbox/one/start", nil)
			b.until("one", "started")
			b.planted(toolbox, tag)
			b.api(200, "DELETE /sandbox/one", nil)
			b.eventually("it is gone", func() bool { return len(b.Boxes()) == 0 })
			require.False(t, seen(t, tag))
		})
	}
}

func TestKilledEmulatorLeavesNoProcess(t *testing.T) {
	t.Parallel()
	for name, isolation := range isolations(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, kill := another(t, walkable(t), isolation)
			made, tag := b.send(200, "POST", b.url+"/sandbox", object{}), tagged()
			require.Equal(t, "started", made["state"])
			b.planted(made["toolboxProxyUrl"].(string)+"/"+made["id"].(string), tag)
			kill()
			b.eventually("nothing of it lives", func() bool { return !seen(t, tag) })
		})
	}
}

// The folder of one that was killed goes when the next one starts beside it. Those that live keep theirs.
func TestTheFolderOfAKilledEmulatorIsRemovedAtTheNextStart(t *testing.T) {
	t.Parallel()
	dir, isolation := walkable(t), isolations(t)["bubblewrap"]
	living, _ := another(t, dir, isolation)
	kept := living.send(200, "POST", living.url+"/sandbox", object{})
	before := folders(t, dir)
	require.Len(t, before, 1)
	dead, kill := another(t, dir, isolation)
	made := dead.send(200, "POST", dead.url+"/sandbox", object{})
	dead.run(made["toolboxProxyUrl"].(string)+"/"+made["id"].(string),
		"mkdir -p closed/in; touch closed/in/file; chmod 0 closed/in closed")
	kill()
	require.Len(t, folders(t, dir), 2, "nobody could remove it")
	var next *bed
	living.eventually("nothing is left of it", func() bool { // its processes may be about to die while the next one starts
		next = newBed(t, daytonatest.Options{Dir: dir})
		return len(folders(t, dir)) == len(before)+1 || next.Close() != nil
	})
	require.Subset(t, folders(t, dir), before)
	require.Equal(t, "started", living.send(200, "GET", living.url+"/sandbox/"+kept["id"].(string), nil)["state"])
	next.api(404, "GET /sandbox/"+made["id"].(string), nil)
}

func folders(t *testing.T, dir string) []string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(dir, "omoi-emulator-*"))
	require.NoError(t, err)
	return found
}

// walkable is a folder that users of sandboxes may walk through.
func walkable(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, os.Chmod(filepath.Dir(dir), 0o711))
	return dir
}

// another starts an emulator in another process, which kill ends with SIGKILL.
func another(t *testing.T, dir string, isolation daytonatest.Isolation) (b *bed, kill func()) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "/proc/self/exe", "serve", string(isolation))
	cmd.Env = append(os.Environ(), "TMPDIR="+dir)
	cmd.Stderr = t.Output()
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	kill = sync.OnceFunc(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // it was killed
		_ = in.Close()
	})
	t.Cleanup(kill)
	return other(t, out), kill
}

// other is a caller of an emulator that another process is.
func other(t *testing.T, out io.Reader) *bed {
	t.Helper()
	lines := bufio.NewScanner(out)
	require.True(t, lines.Scan())
	url := lines.Text()
	require.True(t, lines.Scan())
	key := lines.Text()
	require.True(t, lines.Scan())
	t.Log(lines.Text())
	return caller(t, url, key)
}

func TestSandboxSeesNeitherHostNorNeighbour(t *testing.T) {
	t.Parallel()
	b := newBed(t, daytonatest.Options{})
	confined(t, b)
	secret := "planted-" + task.NewID()
	host := filepath.Join(t.TempDir(), "host")
	require.NoError(t, os.WriteFile(host, []byte(secret), 0o666)) // anybody could read it
	_, first := b.box(object{"env": object{"TOKEN": secret}})
	id, second := b.box(object{})
	b.run(first, "echo "+secret+" > file; (sleep 600; : "+secret+") > /dev/null 2>&1 &")
	_, output := b.run(second, `cat `+host+` /proc/1/environ /proc/[0-9]*/environ /proc/[0-9]*/cmdline /etc/shadow 2>&1;
		ls -A /home /home/daytona / ; find / -name file -newer /proc/1 -maxdepth 4 2>/dev/null | grep -v ^/proc; id -u
		touch /usr/x /x /etc/x /proc/sys/kernel/core_pattern; unshare -Ur true && echo namespaces`)
	require.NotContains(t, output, secret)
	require.NotContains(t, output, "namespaces\n")
	require.Contains(t, output, "\n1000\n")
	require.NotContains(t, output, "root:*")
	require.Contains(t, output, "'/usr/x': Read-only file system")
	require.False(t, seen(t, "TOKEN="), "no command line holds an environment")
	require.Len(t, b.Boxes(), 2)
	require.NotEmpty(t, id)
}

// Who is not root, or has no bubblewrap, is told what he gets.
func TestIsolationIsSaid(t *testing.T) {
	t.Parallel()
	b := newBed(t, daytonatest.Options{Isolation: daytonatest.IsolationNone})
	require.Contains(t, strings.Join(b.Isolation(), " "), "no isolation")
	_, toolbox := b.box(object{})
	_, output := b.run(toolbox, "pwd; echo $HOME")
	home := b.send(200, "GET", toolbox+"/user-home-dir", nil)["dir"].(string)
	require.Equal(t, home+"\n"+home+"\n", output)
}
