package bench

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	apiclient "github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/agent/agentconfig"
	"github.com/omoi-dev/omoi/internal/event"
	"github.com/omoi-dev/omoi/internal/task"
)

// Goals of omoi-agent: megabytes on disk and resident, and milliseconds.
const (
	goalDisk     = 15
	goalResident = 25
	goalBeat     = 50
	megabyte     = 1_000_000
)

// measureAgent starts omoi-agent on this machine, without a sandbox, against a server that
// stores nothing.
func measureAgent(ctx context.Context, cfg Config, r *Report) error {
	program := filepath.Join(cfg.Bin, "omoi-agent")
	info, err := os.Stat(program)
	if err != nil {
		return fmt.Errorf("look at omoi-agent: %w", err)
	}
	var beats, peaks []float64
	for n := range cfg.Agents {
		beat, peak, err := runAgent(ctx, program, filepath.Join(cfg.Dir, strconv.Itoa(n)))
		if err != nil {
			return err
		}
		beats, peaks = append(beats, beat), append(peaks, peak)
	}
	disk := float64(info.Size()) / megabyte
	r.add(
		Row{
			What: "`omoi-agent` on disk", Goal: "at most 15 MB", Measured: fmt.Sprintf("%.1f MB", disk), Value: disk,
			Verdict: atMost(disk, goalDisk),
		},
		Row{
			What: "`omoi-agent`, peak resident memory, median", Goal: "at most 25 MB",
			Measured: fmt.Sprintf("%.1f MB", median(peaks)), Value: median(peaks), Verdict: atMost(median(peaks), goalResident),
		},
		Row{
			What: "`omoi-agent`, start to first heartbeat, median", Goal: "at most 50 ms",
			Measured: fmt.Sprintf("%.1f ms", median(beats)), Value: median(beats), Verdict: atMost(median(beats), goalBeat),
		},
	)
	r.note("omoi-agent", "%d starts with a scripted agent that writes a file, runs a command and reports 2,000 events of 500 bytes. The first heartbeat arrives at a server in the process of the benchmark. Resident memory is the kernel's high-water mark (`VmHWM`), read until the program ends.", cfg.Agents)
	return nil
}

// runAgent answers the milliseconds to the first heartbeat and the peak in megabytes.
func runAgent(ctx context.Context, program, dir string) (beat, peak float64, err error) {
	heard := newListener()
	api := httptest.NewServer(heard)
	defer api.Close()
	path, err := agentConfig(dir, api.URL)
	if err != nil {
		return 0, 0, err
	}
	cmd := exec.CommandContext(ctx, program, "run", "--config", path) //nolint:gosec // our own program
	out := &strings.Builder{}
	cmd.Stdout, cmd.Stderr = out, out
	begun := time.Now()
	if err := cmd.Start(); err != nil {
		return 0, 0, fmt.Errorf("start omoi-agent: %w", err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	peak, err = watchPeak(cmd.Process.Pid, ended)
	if err != nil {
		return 0, 0, fmt.Errorf("run omoi-agent: %w: %s", err, out.String())
	}
	select {
	case at := <-heard.beat:
		return milliseconds(at.Sub(begun)), peak, nil
	default:
		return 0, 0, fmt.Errorf("omoi-agent sent no heartbeat: %s", out.String())
	}
}

func agentConfig(dir, url string) (string, error) {
	if err := os.MkdirAll(filepath.Join(dir, "work"), 0o755); err != nil { //nolint:gosec // an agent's own folder
		return "", fmt.Errorf("make the agent's folder: %w", err)
	}
	text, err := json.Marshal(agentconfig.Config{
		Protocol: agentconfig.Protocol, SandboxID: "bench", TaskID: task.NewID(), Attempt: 1, APIURL: url, Token: "none",
		Runtime: task.AgentScripted, Workspace: filepath.Join(dir, "work"), Dir: filepath.Join(dir, "omoi"),
		Description: "a benchmark",
		Script:      []byte(`{"steps":[{"write":{"path":"a.txt","content":"a\n"}},{"bash":{"command":"cat a.txt"}},{"flood":{"events":2000,"bytes":500}}]}`),
	})
	if err != nil {
		return "", fmt.Errorf("encode the agent's configuration: %w", err)
	}
	path := filepath.Join(dir, "agent.json")
	if err := os.WriteFile(path, text, 0o600); err != nil {
		return "", fmt.Errorf("write the agent's configuration: %w", err)
	}
	return path, nil
}

// watchPeak follows the resident memory of a process to its end. The parent's own memory is
// in what wait4 tells of a child, so that is of no use.
func watchPeak(pid int, ended <-chan error) (megabytes float64, err error) {
	ticker := time.NewTicker(time.Millisecond)
	defer ticker.Stop()
	path := "/proc/" + strconv.Itoa(pid) + "/status"
	for {
		if text, _, ok := strings.Cut(firstLine(path, "VmHWM"), " kB"); ok {
			if kib, err := strconv.ParseFloat(strings.TrimSpace(text), 64); err == nil {
				megabytes = max(megabytes, kib*1024/megabyte) //nolint:mnd // kibibytes
			}
		}
		select {
		case err := <-ended:
			return megabytes, err
		case <-ticker.C:
		}
	}
}

// listener acknowledges every batch and notes the first heartbeat.
type listener struct {
	beat chan time.Time
}

func newListener() *listener { return &listener{beat: make(chan time.Time, 1)} }

// ServeHTTP answers batches; there are never messages.
func (l *listener) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	if !strings.HasSuffix(r.URL.Path, "/events/batch") {
		_, _ = io.WriteString(w, `{"messages":[]}`)
		return
	}
	var batch apiclient.CreateEventBatchRequest
	if r.Header.Get("Content-Encoding") != "" { // the agent sends it plain then
		w.WriteHeader(http.StatusUnsupportedMediaType)
		return
	}
	if err := json.NewDecoder(r.Body).Decode(&batch); err != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	for _, e := range batch.Events {
		if e.Type == event.AgentHeartbeat {
			select {
			case l.beat <- time.Now():
			default:
			}
		}
	}
	fmt.Fprintf(w, `{"acknowledged":%d}`, batch.First+int64(len(batch.Events))-1)
}
