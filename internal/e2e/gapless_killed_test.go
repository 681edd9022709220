package e2e_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"time"

	"github.com/omoi-dev/omoi/internal/agent/apiclient"
	"github.com/omoi-dev/omoi/internal/agent/reporter"
	"github.com/omoi-dev/omoi/internal/agent/spool"
)

// tellerEnv tells this program that it is a teller, and which.
const tellerEnv = "OMOI_TEST_TELLER"

// tellerJob is what a teller in a process of its own needs to know.
type tellerJob struct {
	Spool string `json:"spool"`
	URL   string `json:"url"`
	Name  string `json:"name"`
	Box   string `json:"box"`
	Task  string `json:"task"`
	Seed  uint64 `json:"seed"`
	Total int    `json:"total"`
	Batch int    `json:"batch"`
}

// tell is the main function of such a process. It says the event of each number that it reads
// and answers the number once the event is in the spool; 0 is answered once all is acknowledged.
func tell() int {
	var job tellerJob
	if err := json.Unmarshal([]byte(os.Getenv(tellerEnv)), &job); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	sp, err := spool.Open(job.Spool, spool.Config{})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	line, err := apiclient.New(apiclient.Config{APIURL: job.URL, SandboxID: job.Box, Timeout: 3 * time.Second})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	rep := reporter.New(job.patience(), sp, line, slog.New(slog.DiscardHandler))
	go func() { _ = rep.Run(context.Background()) }()
	for orders := bufio.NewScanner(os.Stdin); orders.Scan(); fmt.Fprintln(os.Stdout, orders.Text()) {
		n, _ := strconv.Atoi(orders.Text()) // of the test's own
		if n == 0 {
			_ = rep.Flush(context.Background())
			continue
		}
		said := sayingOf(job.Seed, job.Box, n, job.Total)
		rep.Emit(said.kind, said.data(n))
	}
	return 0
}

func (j tellerJob) patience() reporter.Config {
	return reporter.Config{
		SandboxID: j.Box, TaskID: j.Task, AgentID: j.Name, BatchEvents: j.Batch, Linger: time.Millisecond,
		MinBackoff: 5 * time.Millisecond, MaxBackoff: 300 * time.Millisecond, SlowBackoff: time.Second,
	}
}

func (a *teller) job() tellerJob {
	return tellerJob{
		Spool: filepath.Join(a.p.dir, "spools", a.box), URL: a.p.net.URL(), Name: a.name, Box: a.box, Task: a.task,
		Seed: a.p.seed, Total: a.p.events, Batch: 1 + a.rng.IntN(40),
	}
}

// liveApart is live in a process of its own, which dies by SIGKILL.
func (a *teller) liveApart(n int) int {
	job := a.job()
	content, _ := json.Marshal(job) //nolint:errchkjson // texts and numbers
	child := exec.CommandContext(a.p.life, os.Args[0])
	child.Env = append(os.Environ(), tellerEnv+"="+string(content))
	var complaint bytes.Buffer
	child.Stderr = &complaint
	err := a.lead(child, n)
	if err != nil && a.p.life.Err() == nil {
		a.p.t.Errorf("%s: %v: %s", a.name, err, complaint.String())
		return a.p.events + 1
	}
	sp, err := spool.Open(job.Spool, spool.Config{})
	if err != nil {
		a.p.t.Errorf("%s: %v", a.name, err)
		return a.p.events + 1
	}
	defer sp.Close()
	a.said.Store(sp.Last())
	a.acked.Store(sp.Acked())
	return int(sp.Last()) + 1 // what it was told last may have come too late
}

// lead lets a process say some events from n on, all of them acknowledged at the end, and kills it.
func (a *teller) lead(child *exec.Cmd, n int) error {
	orders, err := child.StdinPipe()
	if err != nil {
		return err
	}
	said, err := child.StdoutPipe()
	if err != nil {
		return err
	}
	if err := child.Start(); err != nil {
		return err
	}
	defer func() { _, _ = child.Process.Kill(), child.Wait() }()
	heard := bufio.NewReader(said)
	last := min(n+a.rng.IntN(a.p.events), a.p.events)
	for ; n <= last && a.p.gate.pass(a.p.life, n, a.p.events); n++ {
		if err := order(orders, heard, n, n < last || last == a.p.events); err != nil {
			return err
		}
	}
	if n <= a.p.events {
		return nil
	}
	return order(orders, heard, 0, true)
}

// order has a process do something; it may be killed before it has.
func order(orders io.Writer, heard *bufio.Reader, n int, whole bool) error {
	if _, err := fmt.Fprintln(orders, n); err != nil || !whole {
		return err
	}
	_, err := heard.ReadString('\n')
	return err
}
