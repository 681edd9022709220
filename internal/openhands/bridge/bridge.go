package bridge

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"io"
	"maps"
	"os"
	"os/signal"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/omoi-dev/omoi/internal/jsonrpc"
	"github.com/omoi-dev/omoi/internal/openhands"
	"github.com/omoi-dev/omoi/internal/task"
)

// Config says what the bridge connects.
type Config struct {
	// Program is the server's program. It is not used if Vars name a server.
	Program string
	// Vars are the variables of the task: the model (LLM_MODEL, LLM_API_KEY, LLM_BASE_URL), and what the agent's tools get.
	Vars map[string]string
	// Dir holds the conversations of a server that the bridge starts.
	Dir string
	// Room is the time for a server to answer, and to have room for a conversation; zero: 90 s.
	Room time.Duration
	// Log gets the output of that server; nil: none.
	Log *os.File
}

// Full is the kind of an error of a server that has no room for a further conversation.
const Full = "server_full"

// Folder is the variable with the folder of the server's conversations.
const Folder = "OMOI_OPENHANDS_DATA"

// Main serves standard input and output with the variables of this process until the input ends, or SIGTERM.
func Main(program string) {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	vars := map[string]string{}
	for _, entry := range os.Environ() {
		name, value, _ := strings.Cut(entry, "=")
		vars[name] = value
	}
	Serve(ctx, Config{Program: program, Vars: vars, Dir: vars[Folder], Log: os.Stderr}, os.Stdin, os.Stdout)
}

// bridge answers one client.
type bridge struct {
	Config

	wake chan struct{} // an event was stored, perhaps
	work sync.WaitGroup

	writing sync.Mutex
	out     io.Writer

	mu     sync.Mutex
	to     *openhands.Client // nil: not connected
	server *openhands.Server // nil: the server is not of this bridge
	one    *session
}

// Serve reads requests until in or ctx ends, and then ends the server that it has started.
func Serve(ctx context.Context, cfg Config, in io.Reader, out io.Writer) {
	cfg.Room = cmp.Or(cfg.Room, 90*time.Second)
	b := &bridge{Config: cfg, wake: make(chan struct{}, 1), out: out}
	ctx, stop := context.WithCancel(ctx)
	go func() {
		defer stop()
		b.read(ctx, in)
	}()
	<-ctx.Done()
	b.work.Wait()
	b.close(context.WithoutCancel(ctx))
}

func (b *bridge) read(ctx context.Context, in io.Reader) {
	for lines, err := bufio.NewReader(in), error(nil); err == nil; {
		var f *jsonrpc.Frame
		var broken bool
		f, broken, err = jsonrpc.Read(lines)
		switch {
		case f == nil || broken || ctx.Err() != nil:
		case f.Request():
			b.work.Go(func() { b.request(ctx, f) })
		case f.Method == "session/cancel":
			if one := b.session(); one != nil {
				one.cancel()
			}
		}
	}
}

// params are those of all methods.
type params struct {
	SessionID string `json:"sessionId"` //nolint:tagliatelle // the protocol's name
	Folder    string `json:"cwd"`
	Prompt    []struct {
		Text string `json:"text"`
	} `json:"prompt"`
}

func (p params) text() string {
	var text strings.Builder
	for _, block := range p.Prompt {
		text.WriteString(block.Text)
	}
	return text.String()
}

func (b *bridge) request(ctx context.Context, f *jsonrpc.Frame) {
	var result any
	var err error
	switch p := jsonrpc.Into[params](f.Params); f.Method {
	case "initialize":
		result, err = b.initialize(ctx)
	case "session/new":
		result, err = b.create(ctx, p.Folder)
	case "session/resume":
		result, err = b.resume(ctx, p.SessionID)
	case "session/prompt":
		result, err = b.prompt(ctx, p.text())
	case "_session/steering":
		result, err = b.steer(ctx, p.text())
	default:
		b.send(jsonrpc.Response(f.ID, nil, &jsonrpc.Error{Code: jsonrpc.CodeMethod, Message: "method not found: " + f.Method}))
		return
	}
	b.send(jsonrpc.Response(f.ID, result, refusal(err)))
}

// refusal returns an error as the protocol has it; nil for nil.
func refusal(err error) *jsonrpc.Error {
	if err == nil {
		return nil
	}
	code := jsonrpc.CodeInternal
	switch task.CodeOf(err) {
	case task.CodeInvalid:
		code = jsonrpc.CodeParams
	case task.CodeNotFound:
		code = jsonrpc.CodeNotFound
	case task.CodeExhausted:
		return &jsonrpc.Error{Code: code, Message: err.Error(), Data: json.RawMessage(`{"errorKind":"` + Full + `"}`)}
	default:
	}
	return &jsonrpc.Error{Code: code, Message: err.Error()}
}

// initialize names the version of the server without starting it.
func (b *bridge) initialize(ctx context.Context) (any, error) {
	version, err := b.version(ctx)
	if err != nil {
		return nil, err
	}
	return map[string]any{
		"protocolVersion": 1, "agentInfo": map[string]any{"name": "openhands", "title": "OpenHands", "version": version},
		"agentCapabilities": map[string]any{"loadSession": false, "sessionCapabilities": map[string]any{"resume": map[string]any{}}},
		"_meta":             map[string]any{"steering": map[string]any{"supported": true}},
	}, nil
}

func (b *bridge) version(ctx context.Context) (string, error) {
	address, key := openhands.Address(b.Vars)
	if address == "" {
		return openhands.Installed(ctx, b.Program, nil)
	}
	to, err := openhands.New(address, key)
	if err != nil {
		return "", err
	}
	info, err := b.check(ctx, to)
	return info.Version, err
}

// update reports something about the session.
func (b *bridge) update(kind string, fields map[string]any) {
	update := map[string]any{"sessionUpdate": kind}
	maps.Copy(update, fields)
	b.send(jsonrpc.Notification("session/update", map[string]any{"sessionId": b.session().id, "update": update}))
}

// send writes a message. A client that no longer reads has ended, or will.
func (b *bridge) send(message map[string]any) {
	text, err := json.Marshal(message)
	if err != nil {
		text, _ = json.Marshal(jsonrpc.Notification("openhands/unreadable", map[string]any{"error": err.Error()})) //nolint:errchkjson // strings
	}
	b.writing.Lock()
	defer b.writing.Unlock()
	_, _ = b.out.Write(append(text, '\n'))
}

func (b *bridge) session() *session {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.one
}
