package place

import (
	"bytes"
	"encoding/base64"
	"encoding/gob"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/omoi-dev/omoi/internal/sandbox"
	"github.com/omoi-dev/omoi/internal/task"
)

// Methods of a [Request], beside those of [sandbox.Provider].
const (
	Ensure    = "ensure"
	Inspect   = "inspect"
	Start     = "start"
	Stop      = "stop"
	WriteFile = "write"
	ReadFile  = "read"
	Log       = "log"
	Delete    = "delete"
	List      = "list"
	Survey    = "survey"
	// Attach runs a command until it ends, beside further calls about it: More reads its output, Feed says that input is there, Leave ends it.
	Attach = "attach"
	More   = "more"
	Feed   = "feed"
	Leave  = "leave"
)

// Request is one call.
type Request struct {
	Method  string
	Root    string // folder of all sandboxes
	Wrapped bool   // sandboxes are isolated by bubblewrap
	Limits  sandbox.Limits

	Labels       sandbox.Labels
	Spec         sandbox.Spec
	Installation string
	Command      Command
	Grace        time.Duration

	Path   string
	Mode   uint32
	Offset int64
	// File has the content to write, or gets what is read: an answer has no content, since who carries it may keep it.
	File string

	Run  string // folder of an attached command
	Out  int64  // bytes of its output that are known
	Errs int64  // bytes of its error output that are known
	Fed  int    // number of files with input
	Shut bool   // no further input follows
	Size sandbox.Size
}

// Command is a [sandbox.Command] without its input.
type Command struct {
	Args     []string
	Env      map[string]string
	Dir      string
	Timeout  time.Duration
	Terminal bool
}

// Answer is the result of a call.
type Answer struct {
	Fault *Fault

	Box   sandbox.Sandbox
	Boxes []sandbox.Sandbox
	Seen  sandbox.Inspection

	Out  int64 // bytes of the output in the file of the request
	Errs int64 // bytes of the error output that follow
	Over bool  // the attached command has ended
	Code int   // its exit code
}

// Fault is an error.
type Fault struct {
	Code    task.Code
	Text    string
	Special string // one of the errors of package sandbox
}

// Special errors by name.
//
//nolint:gochecknoglobals // a table
var special = map[string]error{"name_taken": sandbox.ErrNameTaken, "fenced": sandbox.ErrFenced, "frozen": sandbox.ErrFrozen}

// faultOf returns an error as the answer has it; nil for nil.
func faultOf(err error) *Fault {
	if err == nil {
		return nil
	}
	f := &Fault{Code: task.CodeOf(err), Text: err.Error()}
	for name, one := range special {
		if errors.Is(err, one) {
			f.Special = name
		}
	}
	return f
}

// Err returns the error of an answer; nil: none.
func (a Answer) Err() error {
	switch f := a.Fault; {
	case f == nil:
		return nil
	case f.Special != "":
		return fmt.Errorf("on the server: %w", special[f.Special])
	default:
		return task.Errorf(f.Code, "%s", f.Text)
	}
}

// Encode returns a value as one word of text.
func Encode(v any) (string, error) {
	var b bytes.Buffer
	if err := gob.NewEncoder(&b).Encode(v); err != nil {
		return "", fmt.Errorf("encode: %w", err)
	}
	return base64.StdEncoding.EncodeToString(b.Bytes()), nil
}

// Decode reads what Encode wrote.
func Decode(text string, v any) error {
	raw, err := base64.StdEncoding.DecodeString(strings.TrimSpace(text))
	if err == nil {
		err = gob.NewDecoder(bytes.NewReader(raw)).Decode(v)
	}
	if err != nil {
		return fmt.Errorf("decode: %w", err)
	}
	return nil
}
