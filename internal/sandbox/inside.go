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

// Check refuses what is no choice of a network.
func (n Network) Check() error {
	if n != NetworkHost && n != NetworkNone {
		return task.Invalid("network", "network is host or none, not %q", n)
	}
	return nil
}

// Complete checks what is asked for, and takes what it leaves open from a provider's own. maxProcesses is as for [Limits.Check].
func (s Spec) Complete(network Network, limits Limits, maxProcesses int) (Spec, error) {
	s.Network, s.Limits = cmp.Or(s.Network, network), s.Limits.Or(limits)
	return s, cmp.Or(s.Labels.Check(), s.Network.Check(), s.Limits.Check(maxProcesses))
}

var legalName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// Check refuses what no shell could run.
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

// Quoted are texts as words of a POSIX shell.
func Quoted(texts ...string) string {
	words := make([]string, 0, len(texts))
	for _, text := range texts {
		words = append(words, "'"+strings.ReplaceAll(text, "'", `'\''`)+"'")
	}
	return strings.Join(words, " ")
}

// Translate turns one of the constants, or what lies below one, into the place that it has here. Other text stays.
func (p Paths) Translate(text string) string {
	for constant, place := range map[string]string{Dir: p.Dir, Workspace: p.Workspace, Home: p.Home} {
		if rest, ok := strings.CutPrefix(text, constant); ok && (rest == "" || rest[0] == '/') {
			return place + rest
		}
	}
	return text
}

// Locate finds the tree in which a file is by its name, and its path from there. [task.CodeInvalid]: it is in none.
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

// Loopback reports whether only the machine that it names reaches an address.
func Loopback(address string) bool {
	u, err := url.Parse(address)
	if err != nil {
		return false
	}
	ip := net.ParseIP(u.Hostname())
	return u.Hostname() == "localhost" || (ip != nil && ip.IsLoopback())
}

// Gone is what is seen of a sandbox that is not there.
func Gone(reason string) Inspection {
	return Inspection{State: StateGone, Agent: StateGone, ExitCode: -1, Reason: reason}
}

// Unknown is what is seen where nobody can be asked.
func Unknown(err error) Inspection {
	return Inspection{State: StateUnknown, Agent: StateUnknown, ExitCode: -1, Reason: err.Error()}
}

// Unseen is what an error says of the sandbox that was looked for: it is gone, also where its name is another's, or it cannot be known.
// [task.CodeInvalid] is of the caller's labels and stays an error.
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

// Output keeps the first [MaxExecOutput] bytes that are written to it and discards the rest: a command that prints more is not blocked.
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

// Full reports whether all that is still to come is discarded.
func (o *Output) Full() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.kept) == MaxExecOutput
}

// Bytes are those that were kept.
func (o *Output) Bytes() []byte {
	o.mu.Lock()
	defer o.mu.Unlock()
	return slices.Clone(o.kept)
}
