package sandbox

import (
	"cmp"
	"net"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/omoi-dev/omoi/internal/task"
)

// What providers do alike.

// Check returns an error for an unknown network.
func (n Network) Check() error {
	if n != NetworkHost && n != NetworkNone {
		return task.Invalid("network", "network is host or none, not %q", n)
	}
	return nil
}

// Complete validates a specification and fills in the provider's defaults. maxProcesses is as for [Limits.Check].
func (s Spec) Complete(network Network, limits Limits, maxProcesses int) (Spec, error) {
	s.Network, s.Limits = cmp.Or(s.Network, network), s.Limits.Or(limits)
	return s, cmp.Or(s.Labels.Check(), s.Network.Check(), s.Limits.Check(maxProcesses))
}

var legalName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// Check returns an error for a command that no shell could run.
func (c Command) Check() error {
	if len(c.Args) == 0 || c.Args[0] == "" {
		return task.Invalid("args", "a command needs a program")
	}
	for _, word := range append([]string{c.Dir}, c.Args...) {
		if strings.ContainsRune(word, 0) {
			return task.Invalid("args", "a command holds no zero bytes")
		}
	}
	for name, value := range c.Env {
		if !legalName.MatchString(name) || strings.ContainsRune(value, 0) {
			return task.Invalid("env", "invalid environment variable %q", name)
		}
	}
	return nil
}

// Translate replaces a leading path constant of text by the path in this sandbox. Other text stays.
func (p Paths) Translate(text string) string {
	for constant, place := range map[string]string{Dir: p.Dir, Workspace: p.Workspace, Home: p.Home} {
		if rest, ok := strings.CutPrefix(text, constant); ok && (rest == "" || rest[0] == '/') {
			return place + rest
		}
	}
	return text
}

// Locate returns the tree that contains a file, by its name, and its path in the tree. [task.CodeInvalid]: no tree
// contains it.
func (p Paths) Locate(name string) (tree, rel string, err error) {
	clean, trees := path.Clean(p.Translate(path.Clean(name))), []string{p.Dir, p.Workspace, p.Home}
	for _, tree := range trees {
		rel, found := strings.CutPrefix(clean, tree+"/")
		if found && rel != "" && !slices.Contains(trees, clean) && !strings.ContainsRune(rel, 0) {
			return tree, rel, nil
		}
	}
	return "", "", task.Invalid("path", "%q is not a file below %s, %s or %s", name, Dir, Workspace, Home)
}

// Loopback reports whether an address is reachable from its own host only.
func Loopback(address string) bool {
	u, err := url.Parse(address)
	if err != nil {
		return false
	}
	ip := net.ParseIP(u.Hostname())
	return u.Hostname() == "localhost" || (ip != nil && ip.IsLoopback())
}

// Gone returns the inspection of a sandbox that does not exist.
func Gone(reason string) Inspection {
	return Inspection{State: StateGone, Agent: StateGone, ExitCode: -1, Reason: reason}
}

// Unknown returns the inspection of a provider that cannot be reached.
func Unknown(err error) Inspection {
	return Inspection{State: StateUnknown, Agent: StateUnknown, ExitCode: -1, Reason: err.Error()}
}

// Unseen returns what an error says about a sandbox: it is gone, also if its name belongs to another, or its state is
// unknown. [task.CodeInvalid] is about the caller's labels and stays an error.
func Unseen(err error) (Inspection, error) {
	switch task.CodeOf(err) {
	case task.CodeNotFound:
		return Gone(""), nil
	case task.CodeConflict:
		return Gone("name_taken"), nil
	case task.CodeInvalid:
		return Inspection{}, err
	default:
		return Unknown(err), nil
	}
}

// Output keeps the first [MaxExecOutput] bytes written to it and discards the rest, so that a command with more output
// is not blocked.
type Output struct {
	mu   sync.Mutex
	kept []byte
}

// Write never fails.
func (o *Output) Write(text []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.kept = append(o.kept, text[:min(len(text), MaxExecOutput-len(o.kept))]...)
	return len(text), nil
}

// Full reports whether further output is discarded.
func (o *Output) Full() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.kept) == MaxExecOutput
}

// Bytes returns the kept output.
func (o *Output) Bytes() []byte {
	o.mu.Lock()
	defer o.mu.Unlock()
	return slices.Clone(o.kept)
}
