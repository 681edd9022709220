package bench

import (
	"cmp"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/omoi-dev/omoi/internal/agent/agentconfig"
	"github.com/omoi-dev/omoi/internal/agent/apiclient"
	"github.com/omoi-dev/omoi/internal/agent/checkpoints"
	"github.com/omoi-dev/omoi/internal/task"
	"github.com/omoi-dev/omoi/internal/transcript"
	"github.com/omoi-dev/omoi/internal/wait"
)

// Goals of checkpoints, in addition to those of trees: megabytes a minute.
const (
	goalPacks  = 1
	goalHelper = 25
	mostEdits  = 20 // files that one tool call changes
)

// measureCheckpoints runs omoi-agent four times at the same time: with checkpoints and without them, where the host allows watches and
// where it allows none. Each has a large work tree in which a program calls a tool once a second. Then it times single checkpoints in
// this process, with and without watches.
func measureCheckpoints(ctx context.Context, cfg Config, r *Report) error {
	on, blind := &arm{name: "on", every: cfg.Interval}, noWatches()
	arms := []*arm{on, {name: "off"}, {name: "on, without watches", every: cfg.Interval, inside: blind}, {name: "off, without watches", inside: blind}}
	if exec.CommandContext(ctx, blind[0], append(blind[1:], "true")...).Run() != nil { //nolint:gosec // as noWatches says
		arms = arms[:2]
		r.add(Row{What: withoutWatches(cfg), Goal: fmt.Sprintf("at most %d %%", goalProcessor), Measured: "needs user namespaces", Verdict: NotMeasured})
	}
	var err error
	for _, a := range arms {
		if err == nil {
			err = a.open(ctx, cfg)
		}
	}
	if err == nil {
		err = sideBySide(ctx, cfg, r, arms)
	}
	for _, a := range arms {
		err = errors.Join(err, a.close())
	}
	if err != nil {
		return err
	}
	for n, way := range []watching{{"with watches", 0, goalTree}, {"without watches", 1, goalTreeScan}} {
		on.tree.round = n + 1
		if err := way.time(ctx, cfg, r, on.tree); err != nil {
			return fmt.Errorf("%s: %w", way.what, err)
		}
	}
	return nil
}

// noWatches is a command that runs another one in a user namespace without watches of inotify.
func noWatches() []string {
	return []string{"unshare", "-Ur", "sh", "-c", `echo 0 > /proc/sys/user/max_inotify_watches && exec "$0" "$@"`}
}

// sideBySide measures all arms while tools are called, and the first one at rest. Every second one takes no checkpoints; the third and
// the fourth one, if any, have no watches.
func sideBySide(ctx context.Context, cfg Config, r *Report, arms []*arm) error {
	on, off := arms[0], arms[1]
	work := make([]figures, len(arms))
	for i, a := range arms {
		work[i] = a.begin()
	}
	for n := range cfg.Trees {
		for i, a := range arms { // apart, so that none is measured beside the other's call
			next := time.After(cfg.Pause / time.Duration(len(arms)))
			if err := a.call(n); err != nil {
				return err
			}
			work[i].calls++
			<-next
		}
	}
	with, without := on.since(work[0]), off.since(work[1])
	if len(arms) > 2 { //nolint:mnd // those without watches
		r.addScans(cfg, arms[2].since(work[2]), arms[3].since(work[3]))
	}
	if err := on.settle(ctx, work[0].sealed, cfg.Interval); err != nil {
		return err
	}
	rest := on.begin()
	if err := wait.For(ctx, time.Duration(cfg.Trees)*cfg.Pause/3); err != nil { //nolint:mnd // a third of the time of work
		return err
	}
	idle := on.since(rest)
	r.addSideBySide(cfg, with, without, idle)
	r.note("Checkpoints, side by side", "%d omoi-agents at the same time, each in a work tree of %d files in %d folders. In each, a program reports a tool call once a second that changed up to %d files; %d calls, at other moments in each. Processor time is that of omoi-agent, its git processes and the program, which prints lines that it gets. With checkpoints every %s: %d checkpoints in %.0f s, %.2f MB of packs, %s; at rest %.2f %% of a processor. Without checkpoints: %s.",
		len(arms), cfg.Files, len(on.tree.folders), mostEdits, cfg.Trees, cfg.Interval, with.sealed, with.took.Seconds(), float64(with.packs)/megabyte, with.memory, idle.share(), without.memory)
	return nil
}

func (r *Report) addSideBySide(cfg Config, with, without, idle figures) {
	what := fmt.Sprintf("checkpoints of %d files, one tool call a second, ", cfg.Files)
	extra := max(with.share()-without.share(), 0.001) //nolint:mnd // a figure that is not zero
	minute := max(float64(with.packs)/megabyte/with.took.Minutes(), 0.001)
	r.add(
		Row{What: what + "processor, on", Value: with.share(), Measured: fmt.Sprintf("%.1f %%", with.share())},
		Row{What: what + "processor, off", Value: without.share(), Measured: fmt.Sprintf("%.1f %%", without.share())},
		Row{What: what + "processor, difference", Goal: fmt.Sprintf("at most %d %%", goalProcessor), Value: extra, Measured: fmt.Sprintf("%.1f %%", extra), Verdict: atMost(extra, goalProcessor)},
		Row{What: what + "packs a minute", Goal: fmt.Sprintf("at most %d MB", goalPacks), Value: minute, Measured: fmt.Sprintf("%.2f MB", minute), Verdict: atMost(minute, goalPacks)},
		Row{What: what + "omoi-agent resident, on", Goal: fmt.Sprintf("at most %d MB", goalResident), Value: with.agent, Measured: fmt.Sprintf("%.1f MB", with.agent), Verdict: atMost(with.agent, goalResident)},
		Row{What: what + "omoi-agent resident, off", Value: without.agent, Measured: fmt.Sprintf("%.1f MB", without.agent)},
		Row{What: what + "git helpers resident, on", Goal: fmt.Sprintf("at most %d MB", goalHelper), Value: max(with.helpers, 0.001), Measured: fmt.Sprintf("%.1f MB", with.helpers), Verdict: atMost(with.helpers, goalHelper)},
		Row{What: what + "bytes of packs at rest", Goal: "0", Value: max(float64(idle.packs), 0.001), Measured: strconv.FormatInt(idle.packs, 10), Verdict: atMost(float64(idle.packs), 0)},
	)
}

// addScans adds the figures without watches.
func (r *Report) addScans(cfg Config, scanning, without figures) {
	extra := max(scanning.share()-without.share(), 0.001) //nolint:mnd // a figure that is not zero
	r.add(Row{
		What: withoutWatches(cfg), Goal: fmt.Sprintf("at most %d %%", goalProcessor), Value: extra, Measured: fmt.Sprintf("%.1f %%", extra), Verdict: atMost(extra, goalProcessor),
	})
	r.note("Checkpoints without watches", "Two further omoi-agents at the same time, in a user namespace that allows no watches of inotify, where each tool call reads all files: with checkpoints %.1f %% of a processor, %d checkpoints in %.0f s, %.2f MB of packs, %s. Without checkpoints: %.1f %%.",
		scanning.share(), scanning.sealed, scanning.took.Seconds(), float64(scanning.packs)/megabyte, scanning.memory, without.share())
}

func withoutWatches(cfg Config) string {
	return fmt.Sprintf("checkpoints of %d files without watches, one tool call a second, processor, difference", cfg.Files)
}

// arm is an omoi-agent in a work tree.
type arm struct {
	name   string
	every  time.Duration // interval of checkpoints; 0: none
	inside []string      // command that runs omoi-agent; empty: none
	tree   edited
	api    *packAPI
	lines  *os.File // what the agent's program prints
	cmd    *exec.Cmd
	log    strings.Builder
}

func (a *arm) open(ctx context.Context, cfg Config) (err error) {
	dir := filepath.Join(cfg.Dir, a.name)
	a.tree.work = filepath.Join(dir, "work")
	if a.tree.folders, err = largeTree(ctx, a.tree.work, cfg.Files); err != nil {
		return err
	}
	fifo := filepath.Join(dir, "lines")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		return fmt.Errorf("make a pipe: %w", err)
	}
	if a.lines, err = os.OpenFile(fifo, os.O_RDWR, 0); err != nil {
		return fmt.Errorf("open a pipe: %w", err)
	}
	a.api = newPackAPI()
	text, err := json.Marshal(agentconfig.Config{
		Protocol: agentconfig.Protocol, SandboxID: "bench", TaskID: task.NewID(), Attempt: 1, APIURL: a.api.URL, Token: "none",
		Runtime: task.AgentCommand, Workspace: a.tree.work, Dir: filepath.Join(dir, "omoi"), Description: "a benchmark",
		Command: []string{"cat", fifo}, Checkpoint: a.every, Heartbeat: 30 * time.Second, //nolint:mnd // the default
	})
	config := filepath.Join(dir, "agent.json")
	if err = cmp.Or(err, os.WriteFile(config, text, 0o600)); err != nil {
		return fmt.Errorf("write the agent's configuration: %w", err)
	}
	line := append(slices.Clone(a.inside), filepath.Join(cfg.Bin, "omoi-agent"), "run", "--config", config)
	a.cmd = exec.CommandContext(ctx, line[0], line[1:]...) //nolint:gosec // our own program
	a.cmd.Stdout, a.cmd.Stderr = &a.log, &a.log
	if err := a.cmd.Start(); err != nil {
		return fmt.Errorf("start omoi-agent: %w", err)
	}
	for begun := time.Now(); a.every > 0 && a.api.sealed.Load() == 0 || a.every == 0 && a.api.asked.Load() == 0; {
		if time.Since(begun) > patience {
			return fmt.Errorf("omoi-agent takes no checkpoint: %s", a.log.String())
		}
		if err := wait.For(ctx, 10*time.Millisecond); err != nil { //nolint:mnd // often enough
			return err
		}
	}
	return nil
}

// patience bounds the wait for a checkpoint.
const patience = 2 * time.Minute

// settle waits until a checkpoint after a number of them is sealed, and none follows for two intervals.
func (a *arm) settle(ctx context.Context, after int64, interval time.Duration) error {
	for begun := time.Now(); a.api.sealed.Load() == after || time.Since(time.Unix(0, a.api.last.Load())) < 2*interval; {
		if time.Since(begun) > patience {
			return fmt.Errorf("omoi-agent takes no checkpoint, or too many: %s", a.log.String())
		}
		if err := wait.For(ctx, interval/4); err != nil { //nolint:mnd // often enough
			return err
		}
	}
	return nil
}

// call is one tool call of the agent's program.
func (a *arm) call(n int) error {
	line := func(kind, data string) error {
		_, err := fmt.Fprintf(a.lines, `{"omoi":"event","event_type":"agent.%s","event_data":{"tool_use_id":"t%d",%s}}`+"\n", kind, n, data)
		return err
	}
	return errors.Join(line("tool_use", `"tool":"Bash","input":{}`), a.tree.edit(n), line("tool_result", `"result":"ok"`))
}

func (a *arm) close() error {
	if a.cmd != nil && a.cmd.Process != nil {
		_ = a.cmd.Process.Signal(syscall.SIGTERM)
		_ = a.cmd.Wait() // it was stopped
	}
	if a.api != nil {
		a.api.Close()
	}
	if a.lines == nil {
		return nil
	}
	return a.lines.Close()
}

// figures are what an omoi-agent used.
type figures struct {
	at        time.Time
	took      time.Duration
	processor time.Duration
	packs     int64
	sealed    int64
	calls     int

	agent, helpers float64 // resident megabytes
	memory         string
}

func (a *arm) begin() figures {
	return figures{at: time.Now(), processor: processorOf(a.cmd.Process.Pid), packs: a.api.bytes.Load(), sealed: a.api.sealed.Load()}
}

func (a *arm) since(f figures) figures {
	now := a.begin()
	now.took, now.processor = now.at.Sub(f.at), now.processor-f.processor
	now.packs, now.sealed, now.calls = now.packs-f.packs, now.sealed-f.sealed, f.calls
	pid := strconv.Itoa(a.cmd.Process.Pid)
	now.agent = residentOf(pid)
	for _, child := range childrenOf(pid) {
		if command, _ := os.ReadFile("/proc/" + child + "/cmdline"); strings.HasPrefix(string(command), "git\x00") {
			now.helpers += residentOf(child)
		}
	}
	now.memory = fmt.Sprintf("resident omoi-agent %.1f MB, git helpers %.1f MB", now.agent, now.helpers)
	return now
}

// share is percent of a processor.
func (f figures) share() float64 {
	return max(100*float64(f.processor)/float64(f.took), 0.001) //nolint:mnd // percent; a figure that is not zero
}

// processorOf is the processor time of a process and all its descendants, those that ended too.
func processorOf(pid int) (sum time.Duration) {
	id := strconv.Itoa(pid)
	text, _ := os.ReadFile("/proc/" + id + "/stat") // gone: nothing more
	_, rest, _ := strings.Cut(string(text), ") ")
	for n, field := range strings.Fields(rest) {
		if n >= 11 && n <= 14 { // user and system time, its own and of children that ended, in hundredths of a second
			ticks, _ := strconv.Atoi(field)
			sum += time.Duration(ticks) * 10 * time.Millisecond
		}
	}
	for _, child := range childrenOf(id) {
		n, _ := strconv.Atoi(child)
		sum += processorOf(n)
	}
	return sum
}

func residentOf(pid string) float64 {
	text, _, _ := strings.Cut(firstLine("/proc/"+pid+"/status", "VmRSS"), " kB")
	kib, _ := strconv.ParseFloat(strings.TrimSpace(text), 64)
	return kib * 1024 / megabyte //nolint:mnd // kibibytes
}

// edited is a work tree in which files are edited.
type edited struct {
	work    string
	folders []string
	round   int // each changes the files again
}

// edit changes 1 to [mostEdits] files.
func (e edited) edit(n int) error {
	for i := range 1 + n%mostEdits {
		name := filepath.Join(e.folders[(n*37+i)%len(e.folders)], "f3.go")
		text := strings.Repeat(fmt.Sprintf("var x = %d\n", i), 100) + fmt.Sprintf("// edit %d of round %d\n", n, e.round)
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			return fmt.Errorf("edit a file: %w", err)
		}
	}
	return nil
}

// watching is a way to see changes of files.
type watching struct {
	what    string
	watches int // 0: as many as the host allows
	goal    float64
}

// time takes a checkpoint after each tool call, and times it with its pack and the upload.
func (y watching) time(ctx context.Context, cfg Config, r *Report, tree edited) error {
	api := newPackAPI()
	defer api.Close()
	line, err := apiclient.New(apiclient.Config{APIURL: api.URL, SandboxID: "bench"})
	if err != nil {
		return err
	}
	defer line.Close()
	dir, doing := filepath.Join(cfg.Dir, y.what), &toolCalls{}
	if err := os.Mkdir(dir, 0o700); err != nil {
		return fmt.Errorf("make a folder: %w", err)
	}
	k, err := checkpoints.Open(ctx, checkpoints.Config{
		Dir: dir, Work: tree.work, Watches: y.watches,
		Line: line, Report: doing, Transcript: doing, Doing: doing, Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		return err
	}
	defer k.Close()
	if err := k.Keep(ctx); err != nil { // the first one
		return err
	}
	var wall []float64
	for n := range cfg.Trees {
		next := time.After(cfg.Pause)
		if err := tree.edit(n); err != nil {
			return err
		}
		doing.calls += 2
		sealed, begun := api.sealed.Load(), time.Now()
		if err := k.Keep(ctx); err != nil {
			return err
		}
		if api.sealed.Load() > sealed { // else no scan was due
			wall = append(wall, milliseconds(time.Since(begun)))
		}
		<-next
	}
	slices.Sort(wall)
	row := Row{
		What: fmt.Sprintf("checkpoint of %d files after a tool call, %s, p95", cfg.Files, y.what), Goal: fmt.Sprintf("at most %.0f ms", y.goal),
		Value: quantile(wall, p95), Measured: fmt.Sprintf("%.1f ms", quantile(wall, p95)), Verdict: atMost(quantile(wall, p95), y.goal),
	}
	if len(wall) == 0 {
		row.Measured, row.Verdict = "no scan", NotMeasured
	}
	r.add(row)
	r.note("Single checkpoints, "+y.what, "%d tool calls that change up to %d files each, one a second, and a checkpoint after each, with its pack and its upload to a server in the process of the benchmark: %d checkpoints, median %.1f ms, longest %.0f ms, %.2f MB of packs.",
		cfg.Trees, mostEdits, len(wall), median(wall), quantile(wall, 1), float64(api.bytes.Load())/megabyte)
	return nil
}

// toolCalls is an agent that calls tools.
type toolCalls struct{ calls int64 }

func (t *toolCalls) Calls() (int64, string)    { return t.calls, "" }
func (*toolCalls) Completed() string           { return "call" }
func (*toolCalls) Send(context.Context) error  { return nil }
func (*toolCalls) Sent() (string, int64)       { return "", 0 }
func (*toolCalls) Flush(context.Context) error { return nil }
func (*toolCalls) Emit(string, map[string]any) {}

// packAPI acknowledges all that omoi-agent sends, and counts packs.
type packAPI struct {
	*httptest.Server

	events               *listener
	sum                  uint32 // of the transcript
	length               int    // of the transcript
	asked, bytes, sealed atomic.Int64
	last                 atomic.Int64 // when a checkpoint was sealed, in nanoseconds
}

func newPackAPI() *packAPI {
	p := &packAPI{events: newListener()}
	p.Server = httptest.NewServer(p)
	return p
}

// ServeHTTP answers requests about checkpoints, and leaves the rest to a listener.
func (p *packAPI) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.asked.Add(1)
	_, point, is := strings.Cut(r.URL.Path, "/checkpoints/")
	switch {
	case is && strings.HasSuffix(point, "/pack"):
		size, _ := io.Copy(io.Discard, r.Body)
		p.bytes.Add(size)
		offset, _ := strconv.ParseInt(r.URL.Query().Get("offset"), 10, 64)
		fmt.Fprintf(w, `{"stored":true,"received":%d}`, offset+size)
	case is:
		p.sealed.Add(1)
		p.last.Store(time.Now().UnixNano())
		fmt.Fprint(w, "{}")
	case path.Base(path.Dir(r.URL.Path)) == "transcripts":
		p.transcript(w, r)
	default:
		p.events.ServeHTTP(w, r)
	}
}

// transcript takes a piece of the only transcript.
func (p *packAPI) transcript(w http.ResponseWriter, r *http.Request) {
	if z, err := gzip.NewReader(r.Body); err == nil {
		piece, _ := io.ReadAll(z)
		p.sum, p.length = transcript.Sum(p.sum, piece), p.length+len(piece)
	}
	fmt.Fprintf(w, `{"stored":true,"received":%d,"sum":%d,"cut_bytes":0}`, p.length, p.sum)
}
