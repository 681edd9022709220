package e2e_test

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	inside "github.com/omoi-dev/omoi/internal/agent"
	"github.com/omoi-dev/omoi/internal/agent/spool"
	"github.com/omoi-dev/omoi/internal/task"
)

// boxedAgent is a real omoi-agent in a real sandbox. A doomed one is killed there, and its work
// is sent back: the next attempt says everything again, in another sandbox.
type boxedAgent struct {
	p      *proof
	task   string
	doomed bool
	killed string   // the sandbox where it was
	acked  int64    // how many events its spool knew to be stored then
	boxes  []string // of each attempt
}

// boxedFlood is how many events each flood of a boxed agent has.
const boxedFlood = 20

// boxedSteps let an agent say about as many events as the others, over a while.
func boxedSteps(events int) []string {
	var steps []string
	for range events / boxedFlood {
		steps = append(steps, sprintf(`{"flood":{"events":%d,"bytes":150}}`, boxedFlood), `{"sleep_s":0.3}`)
	}
	return steps
}

func (p *proof) boxAgents(repo string) {
	steps := boxedSteps(p.events)
	ending := []string{stepWrite, stepCommit, stepComplete}
	for i := range p.boxed + p.doomed {
		b := &boxedAgent{p: p, doomed: i >= p.boxed}
		all := append([]string{}, steps...)
		if b.doomed { // it does not end before it has been killed
			all = append(all, `{"wait_message":{}}`)
		}
		b.task = p.submit(repo, script(append(all, ending...)...), retries(0)).ID
		p.boxes = append(p.boxes, b)
	}
}

func (p *proof) boxedOf(taskID string) *boxedAgent {
	for _, b := range p.boxes {
		if b.task == taskID {
			return b
		}
	}
	return nil
}

// killBoxed kills an agent in its sandbox in mid-speech, and sends its work back.
func (p *proof) killBoxed() func() {
	for _, b := range p.boxes {
		if b.doomed && b.killed == "" {
			b.kill(1 + p.draw(p.events/2))
			return func() {}
		}
	}
	return p.killAPI()
}

// kill waits until the agent has been heard so often, and its task runs, and kills it. An agent may speak before the step has ended
// that starts it: a verdict is refused until then.
func (b *boxedAgent) kill(heard int) {
	p := b.p
	p.attend(func() bool {
		return p.pool.QueryRow(p.life, `SELECT s.id FROM sandboxes s JOIN tasks t ON t.id = s.task_id WHERE t.id = $1 AND t.status = 'running' AND s.last_sequence >= $2`, b.task, heard).Scan(&b.killed) == nil
	})
	p.t.Logf("the agent in %s is killed", b.killed)
	p.attend(func() bool {
		agents := agentsIn(b.killed)
		for _, pid := range agents {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
		return len(agents) == 0
	})
	b.acked = p.ackedIn(b.killed)
	p.attend(func() bool {
		return p.told("/api/v1/sandboxes/"+b.killed+"/validation-result", `{"task_id":"`+b.task+`","passed":false,"feedback":"once more"}`)
	})
}

// agentsIn are the processes of omoi-agent in a sandbox.
func agentsIn(box string) []int {
	var found []int
	for _, pid := range processesWith(task.SandboxName(box)) {
		raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		if err == nil && bytes.Contains(raw, []byte("omoi-agent")) {
			found = append(found, pid)
		}
	}
	return found
}

// ackedIn is how many events the spool of a sandbox knows to be stored. It looks at a copy.
func (p *proof) ackedIn(box string) int64 {
	dir := ""
	_ = filepath.WalkDir(filepath.Join(p.rig.env["OMOI_SANDBOX_DIR"], task.SandboxName(box)), func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() && d.Name() == inside.SpoolName {
			dir = path
			return fs.SkipAll
		}
		return nil
	})
	require.NotEmpty(p.t, dir, "the spool of %s", box)
	copied := filepath.Join(p.t.TempDir(), "spool")
	require.NoError(p.t, os.CopyFS(copied, os.DirFS(dir)))
	sp, err := spool.Open(copied, spool.Config{})
	require.NoError(p.t, err)
	defer sp.Close()
	p.t.Logf("it had said %d events and knew of %d that they are stored", sp.Last(), sp.Acked())
	return sp.Acked()
}

// told posts to the first API that takes it.
func (p *proof) told(path, body string) bool {
	for _, url := range p.direct {
		req, err := http.NewRequestWithContext(p.life, http.MethodPost, url+path, strings.NewReader(body))
		require.NoError(p.t, err)
		req.Header.Set("Content-Type", "application/json")
		res, err := p.client.Do(req)
		if err != nil {
			continue
		}
		_ = res.Body.Close()
		if res.StatusCode < http.StatusMultipleChoices {
			return true
		}
	}
	return false
}

// release lets the agents of second attempts come to their end.
func (p *proof) release() {
	for _, b := range p.boxes {
		box := ""
		for b.doomed && box == "" && p.life.Err() == nil {
			p.attend(func() bool {
				return p.pool.QueryRow(p.life, `SELECT id FROM sandboxes WHERE task_id = $1 AND attempt = 2 AND last_sequence > 0`, b.task).Scan(&box) == nil
			})
			p.attend(func() bool { return p.told("/api/v1/sandboxes/"+box+"/messages", `{"content":"go on"}`) })
		}
	}
}

// ended notes where the agent was.
func (b *boxedAgent) ended(got task.Task) {
	b.boxes = nil
	for _, a := range got.Attempts {
		b.boxes = append(b.boxes, a.SandboxID)
	}
	want := 1
	if b.doomed {
		want = 2
		require.Equal(b.p.t, b.killed, b.boxes[0])
	}
	require.Len(b.p.t, b.boxes, want)
}

// check looks whether the agent was heard in its order: to its end, or where it was killed to
// some event that it did not know to be stored yet.
func (b *boxedAgent) check() {
	all := b.p.events / boxedFlood * boxedFlood
	for _, box := range b.boxes {
		heard := b.p.floodOf(box)
		if box == b.killed {
			assert.GreaterOrEqual(b.p.t, int64(len(b.p.storedIn(box))), b.acked, "%s: what was acknowledged is stored", box)
			assert.LessOrEqual(b.p.t, heard, all, "%s", box)
		} else {
			assert.Equal(b.p.t, all, heard, "%s", box)
		}
		b.p.checkIntegrity(box)
	}
}

// floodOf counts the events of floods in a sandbox, which come in their order. An agent that goes
// on from a transcript goes on counting its turns.
func (p *proof) floodOf(box string) (n int) {
	first := 1
	rows, err := p.pool.Query(context.Background(), `SELECT (event_data ->> 'turn')::int, (event_data ->> 'flood')::int FROM sandbox_events
		WHERE sandbox_id = $1 AND event_data ? 'flood' ORDER BY sequence`, box)
	require.NoError(p.t, err)
	defer rows.Close()
	for ; rows.Next(); n++ {
		var turn, flood int
		require.NoError(p.t, rows.Scan(&turn, &flood))
		if n == 0 {
			first = turn
		}
		require.Equal(p.t, []int{first + n/boxedFlood*2, 1 + n%boxedFlood}, []int{turn, flood}, "flood event %d of %s", n, box)
	}
	require.NoError(p.t, rows.Err())
	return n
}

// checkReader holds what a reader of the task has seen of each sandbox to what is stored.
func (b *boxedAgent) checkReader(r *reader) {
	for _, box := range b.boxes {
		var seen []sight
		for i, s := range r.seen {
			if r.boxes[i] == box {
				seen = append(seen, s)
			}
		}
		same(b.p, r.name()+", seen of "+box+" against stored", b.p.storedIn(box), seen)
	}
}
