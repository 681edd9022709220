package daytona

import (
	"encoding/json"
	"fmt"
	"net/http"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Switch names what goes wrong.
type Switch string

// The switches. What a fault of each looks at besides its aim is said with it.
const (
	SlowCreate       Switch = "slow_create"       // creating takes Delay longer
	CreateError      Switch = "create_error"      // a new sandbox ends in error, for Message
	LateCreate       Switch = "late_create"       // create is not answered; its sandbox appears after Delay
	LostAnswer       Switch = "lost_answer"       // a call is done, its answer is not sent
	Answer           Switch = "answer"            // a call is not done, it answers Status, Message, RetryAfter
	BadGateway       Switch = "bad_gateway"       // a call is not done, it answers 502 without a body
	TooMany          Switch = "too_many"          // a call is not done, it answers 429 with RetryAfter
	DroppedStream    Switch = "dropped_stream"    // a log stream breaks off after After bytes
	DaemonDeath      Switch = "daemon_death"      // the daemon is killed; the state stays started for a while
	InactiveSnapshot Switch = "inactive_snapshot" // Snapshot (empty: all) is inactive until it is activated
	MissingSnapshot  Switch = "missing_snapshot"  // Snapshot (empty: all) is not there
	StuckDelete      Switch = "stuck_delete"      // a deleted sandbox stays destroying until this is cleared
	EgressBlocked    Switch = "egress_blocked"    // sandboxes that are started from now on have no network
)

// Switches are all of them.
func Switches() []Switch {
	return []Switch{
		SlowCreate, CreateError, LateCreate, LostAnswer, Answer, BadGateway, TooMany, DroppedStream, DaemonDeath,
		InactiveSnapshot, MissingSnapshot, StuckDelete, EgressBlocked,
	}
}

// Fault is a switch that is on. Method and Path aim at calls, Sandbox (id or name) at one
// sandbox, Snapshot at one snapshot; what is empty aims at all. Path is the whole path of a
// request with * for one part of it, as in /api/sandbox/*/start or
// /toolbox/*/process/session/*/exec.
type Fault struct {
	ID         string        `json:"id"` // given by Set
	Switch     Switch        `json:"switch"`
	Method     string        `json:"method,omitempty"`
	Path       string        `json:"path,omitempty"`
	Sandbox    string        `json:"sandbox,omitempty"`
	Snapshot   string        `json:"snapshot,omitempty"`
	Times      int           `json:"times,omitempty"` // how often; 0: until it is cleared
	Skip       int           `json:"skip,omitempty"`  // so many go well first
	Delay      time.Duration `json:"delay,omitempty"`
	Status     int           `json:"status,omitempty"`
	Message    string        `json:"message,omitempty"`
	RetryAfter int           `json:"retryAfter,omitempty"` // seconds
	Header     string        `json:"header,omitempty"`     // that tells RetryAfter; empty: Retry-After
	After      int           `json:"after,omitempty"`
}

// UnmarshalJSON takes a delay as text too, as in "2s".
func (f *Fault) UnmarshalJSON(text []byte) error {
	type plain Fault
	in := struct {
		*plain

		Delay any `json:"delay"`
	}{plain: (*plain)(f)}
	if err := json.Unmarshal(text, &in); err != nil {
		return err
	}
	switch delay := in.Delay.(type) {
	case string:
		d, err := time.ParseDuration(delay)
		f.Delay = d
		return err
	case float64:
		f.Delay = time.Duration(delay)
	case nil:
	default:
		return fmt.Errorf("delay is a time, as 2s, not %v", delay)
	}
	return nil
}

// check says what is wrong with a fault that somebody asks for.
func (f Fault) check() error {
	if !slices.Contains(Switches(), f.Switch) {
		return badRequest("switch is one of %v", Switches())
	}
	for name, n := range map[string]int64{
		"delay": int64(f.Delay), "times": int64(f.Times), "skip": int64(f.Skip), "retryAfter": int64(f.RetryAfter),
		"after": int64(f.After),
	} {
		if n < 0 {
			return badRequest("%s must not be less than 0", name)
		}
	}
	if f.Status != 0 && (f.Status < http.StatusOK || f.Status > lastStatus) {
		return badRequest("status is one of HTTP's from 200 to %d, not %d", lastStatus, f.Status)
	}
	if _, err := path.Match(f.Path, ""); err != nil {
		return badRequest("path is no pattern: %q", f.Path)
	}
	return nil
}

const lastStatus = 599

// Faults are the switches of an emulator. They are safe for concurrent use.
type Faults struct {
	mu      sync.Mutex
	last    int
	on      []Fault
	changed chan struct{}
	hit     func(Fault) // told of a new one
}

func newFaults(hit func(Fault)) *Faults { return &Faults{changed: make(chan struct{}), hit: hit} }

// Set switches a fault on and answers its id.
func (f *Faults) Set(fault Fault) string {
	f.mu.Lock()
	f.last++
	fault.ID = strconv.Itoa(f.last)
	f.on = append(f.on, fault)
	f.note()
	f.mu.Unlock()
	f.hit(fault)
	return fault.ID
}

// Clear switches off what has this id, or all of this switch.
func (f *Faults) Clear(what string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.on = slices.DeleteFunc(f.on, func(one Fault) bool { return one.ID == what || string(one.Switch) == what })
	f.note()
}

// Reset switches all off.
func (f *Faults) Reset() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.on = nil
	f.note()
}

// On are those that are on.
func (f *Faults) On() []Fault {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]Fault{}, f.on...)
}

func (f *Faults) note() {
	close(f.changed)
	f.changed = make(chan struct{})
}

// aim is what a fault must be meant for.
type aim struct {
	method, path   string
	id, name       string
	snapshot       string
	withoutRequest bool
}

func (f Fault) meant(a aim) bool {
	if !a.withoutRequest && f.Path != "" {
		if ok, err := path.Match(f.Path, a.path); err != nil || !ok {
			return false
		}
	}
	return (f.Method == "" || a.withoutRequest || strings.EqualFold(f.Method, a.method)) &&
		(f.Sandbox == "" || f.Sandbox == a.id || f.Sandbox == a.name) &&
		(f.Snapshot == "" || f.Snapshot == a.snapshot)
}

// take answers the first fault of a switch that is meant, and counts it.
func (f *Faults) take(s Switch, a aim) (Fault, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for i := range f.on {
		one := &f.on[i]
		if one.Switch != s || !one.meant(a) {
			continue
		}
		if one.Skip > 0 {
			one.Skip--
			continue
		}
		found := *one
		if one.Times == 1 {
			f.on = slices.Delete(f.on, i, i+1)
			f.note()
		} else if one.Times > 1 {
			one.Times--
		}
		return found, true
	}
	return Fault{}, false
}

// holds answers whether one is on, without counting it, and a channel that closes at a change.
func (f *Faults) holds(s Switch, a aim) (bool, <-chan struct{}) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.ContainsFunc(f.on, func(one Fault) bool { return one.Switch == s && one.meant(a) }), f.changed
}

// drop switches off those of a switch that are meant.
func (f *Faults) drop(s Switch, a aim) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.on = slices.DeleteFunc(f.on, func(one Fault) bool { return one.Switch == s && one.meant(a) })
	f.note()
}
