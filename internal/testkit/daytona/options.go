package daytona

import (
	"log/slog"
	"net/http"
	"time"

	"github.com/omoi-dev/omoi/internal/task"
)

// Options of an emulator. The zero value is one for tests: nothing takes longer than it must,
// and the clocks of minutes run as anywhere, unless [Server.Advance] moves them.
type Options struct {
	Listen        string // of the main API; empty: a free port of 127.0.0.1
	ToolboxListen string // of the toolbox; likewise
	Key           string // empty: a new one
	Dir           string // folder for the sandboxes; empty: the system's for temporary files
	Isolation     Isolation

	// How long a sandbox takes for its way. Zero: as long as it really takes.
	CreateDelay  time.Duration
	BuildDelay   time.Duration // of an image, before CreateDelay
	StartDelay   time.Duration
	StopDelay    time.Duration
	DestroyDelay time.Duration
	ListLag      time.Duration // how old the picture is that a list shows

	CreateWait   time.Duration // how long create waits for started; 0: 30 s, below: not at all
	DeathLag     time.Duration // how long a sandbox stays started whose daemon is dead; 0: 2 min
	CheckEvery   time.Duration // between looks at the clocks of minutes; 0: 10 s
	RequestLimit time.Duration // after which the proxy drops a quiet request; 0: 60 s
	Grace        time.Duration // between SIGTERM and SIGKILL of a session; 0: 5 s
	Quiet        time.Duration // after which the log stream of an ended command ends; 0: 1 s
	FrameBytes   int           // most bytes of a frame of a log stream; 0: 1021

	Regions   []string           // 0: us and eu; the first is the default
	Snapshots []Snapshot         // nil: [DefaultSnapshots]; the first is the default
	Limits    map[Kind]RateLimit // what is missing is as in the first tier

	// Observe sees every exchange, once it is answered. It may be called by many at a time.
	Observe func(Exchange)
	Log     *slog.Logger
}

// Isolation says how sandboxes are kept apart.
type Isolation string

// The choices of isolation.
const (
	IsolationAuto    Isolation = ""        // bubblewrap if it works, else processes
	IsolationRequire Isolation = "require" // Start fails where bubblewrap does not work
	IsolationNone    Isolation = "none"    // processes in a folder, even where bubblewrap works
)

// Snapshot is one that sandboxes can be made from.
type Snapshot struct {
	Name      string
	Inactive  bool
	CPU       int
	MemoryGiB int
	DiskGiB   int
	Regions   []string // empty: all
}

// DefaultSnapshots are Daytona's default and the one that omoi asks for.
func DefaultSnapshots() []Snapshot {
	return []Snapshot{
		{Name: "daytona-small", CPU: 1, MemoryGiB: 1, DiskGiB: 3},
		{Name: "ai-agent-dev-light", CPU: 2, MemoryGiB: 4, DiskGiB: 8},
	}
}

// Exchange is a request and its answer. Injected says that a fault made the answer.
type Exchange struct {
	Toolbox      bool // of the toolbox
	Request      *http.Request
	Path         string // as it was escaped, behind /api or behind the sandbox's id
	RequestBody  []byte
	Status       int
	Header       http.Header
	ResponseBody []byte
	Injected     bool
}

func (o Options) withDefaults() Options {
	o.Listen = or(o.Listen, "127.0.0.1:0")
	o.ToolboxListen = or(o.ToolboxListen, "127.0.0.1:0")
	o.Key = or(o.Key, "dtn_emulator_"+task.NewID())
	o.CreateWait = or(o.CreateWait, 30*time.Second)
	o.DeathLag = or(o.DeathLag, 2*time.Minute)
	o.CheckEvery = or(o.CheckEvery, 10*time.Second)
	o.RequestLimit = or(o.RequestLimit, time.Minute)
	o.Grace = or(o.Grace, 5*time.Second)
	o.Quiet = or(o.Quiet, time.Second)
	o.FrameBytes = or(o.FrameBytes, 1021)
	if o.Regions == nil {
		o.Regions = []string{"us", "eu"}
	}
	if o.Snapshots == nil {
		o.Snapshots = DefaultSnapshots()
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return o
}

func or[T comparable](value, otherwise T) T {
	var zero T
	if value == zero {
		return otherwise
	}
	return value
}
