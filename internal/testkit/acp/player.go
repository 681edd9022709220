package acp

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"time"
)

// Player plays a recorded session as a program that is an agent. What the recording lacks, it answers as an agent that
// works.
type Player struct {
	Agent, Session string
	Dir            string // folder of what the player writes, and of signals to it
	Hold           bool   // wait for the file go before the answer to the first prompt
	Child          bool   // start a child that only SIGKILL ends, at the first tool call
	Die            bool   // be killed at the first tool call
	Commit         bool   // commit a file at the first prompt
	Remember       string // file of the session, which a prompt creates
	Secret         string // text in that file
	Damage         int    // copies with random damage before each message, of which none answers a request
	Spoil          string // method of the first request whose answer is damaged; empty: none
	Seed           uint64 // of the damage
	Model          string // address that is asked at each prompt; empty: none
	Mode           string // mode that the agent keeps; empty: it takes the one that the client sets; none: it tells no mode

	in     *bufio.Scanner
	out    io.Writer
	frames []Frame
	at     int
	ids    map[string]json.RawMessage // IDs of the client's requests by recorded ID
	prompt json.RawMessage            // ID of a prompt without an answer
	asked  int
	later  []message // prompts that came while a response was awaited
	now    message   // newest request of the client
	random *rand.Rand
}

// message is a message of the client.
type message struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
}

// Play plays until the input ends.
func (p *Player) Play(in io.Reader, out io.Writer) {
	p.in, p.out, p.ids = bufio.NewScanner(in), out, map[string]json.RawMessage{}
	p.in.Buffer(nil, 64<<20)
	p.frames, p.random = p.part(), rand.New(rand.NewPCG(p.Seed, p.Seed)) //nolint:gosec // the same damage in each run
	for m, ok := p.next(); ok; m, ok = p.next() {
		p.handle(m)
	}
}

// next returns a prompt that waits, else what the client says next.
func (p *Player) next() (m message, ok bool) {
	if len(p.later) == 0 {
		return p.read()
	}
	m, p.later = p.later[0], p.later[1:]
	return m, true
}

// part returns what the n-th process of a test plays: the part from the n-th initialize on.
func (p *Player) part() []Frame {
	n, parts := p.process(), [][]Frame{nil}
	for i, f := range Sessions(p.Agent)[p.Session] {
		if i > 0 && f.Out != nil && *f.Out == "initialize" {
			parts = append(parts, nil)
		}
		parts[len(parts)-1] = append(parts[len(parts)-1], f)
	}
	if n > len(parts) {
		return nil
	}
	return parts[n-1]
}

// process returns the number of this process, from 1, and logs what it reads in a file with that number.
func (p *Player) process() int {
	for n := 1; ; n++ {
		file, err := os.OpenFile(filepath.Join(p.Dir, "heard-"+strconv.Itoa(n)), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
		if err != nil {
			continue
		}
		_ = file.Close()
		p.asked = n
		return n
	}
}

func (p *Player) read() (m message, ok bool) {
	if !p.in.Scan() {
		return m, false
	}
	if err := json.Unmarshal(p.in.Bytes(), &m); err != nil {
		panic(err)
	}
	file, err := os.OpenFile(filepath.Join(p.Dir, "heard-"+strconv.Itoa(p.asked)), os.O_APPEND|os.O_WRONLY, 0o600)
	if err == nil {
		_, _ = file.Write(append(p.in.Bytes(), '\n'))
		_ = file.Close()
	}
	return m, true
}

func (p *Player) handle(m message) {
	if m.Method == "" {
		return
	}
	p.now = m
	if m.Method == "session/prompt" && p.Remember != "" {
		_ = os.MkdirAll(filepath.Dir(p.Remember), 0o700)
		_ = os.WriteFile(p.Remember, []byte(`{"text":"what the agent remembers","printed":"`+p.Secret+`"}`+"\n"), 0o600)
	}
	if m.Method == "session/prompt" {
		p.prompt = m.ID
		p.ask()
		p.commit()
	}
	for i := p.at; i < len(p.frames) && m.Method != "session/set_mode"; i++ { // the recorded mode is another one
		if f := p.frames[i]; f.Out != nil && *f.Out == m.Method {
			p.ids[string(f.ID)], p.at = m.ID, i+1
			p.play()
			return
		}
	}
	p.improvise(m)
}

// ask asks the model, and does not care for its answer.
func (p *Player) ask() {
	if p.Model == "" {
		return
	}
	go func() {
		if answer, err := http.Post(p.Model, "application/json", nil); err == nil { //nolint:noctx // the agent ends with its test
			_ = answer.Body.Close()
		}
	}()
}

// commit commits a file to the repository in the working folder, once.
func (p *Player) commit() {
	if !p.Commit {
		return
	}
	p.Commit = false
	out, err := exec.Command("sh", "-c", "echo work > work.txt && git add work.txt && git commit -qm work").CombinedOutput() //nolint:noctx // as above
	if err != nil {
		panic(string(out))
	}
}

// play prints up to the next message of the client that is no response.
func (p *Player) play() {
	for ; p.at < len(p.frames); p.at++ {
		switch f := p.frames[p.at]; {
		case f.In != nil:
			p.print(f.In)
		case *f.Out != "":
			return
		default:
			p.await()
		}
	}
}

// await waits for a response of the client.
func (p *Player) await() (m message) {
	for {
		m, ok := p.read()
		if !ok {
			os.Exit(0) //nolint:forbidigo // this process is the agent
		}
		if m.Method == "" {
			return m
		}
		if m.Method == "session/prompt" { // the recording answers it
			p.later = append(p.later, m)
			continue
		}
		p.improvise(m)
	}
}

// print prints a recorded message; a response gets the ID of the client's request.
func (p *Player) print(raw json.RawMessage) {
	var f map[string]json.RawMessage
	if err := json.Unmarshal(p.here(raw), &f); err != nil {
		panic(err)
	}
	if f["method"] == nil {
		id := p.ids[string(f["id"])]
		if id == nil {
			return
		}
		f["id"] = id
		p.last(f["id"])
	}
	p.say(f)
	p.act(string(f["method"]), raw)
}

// here returns a recorded message with the working folder in the place of the recorded one.
func (p *Player) here(raw json.RawMessage) json.RawMessage {
	dir, err := os.Getwd()
	if err != nil {
		panic(err)
	}
	if p.Mode == "none" {
		raw = bytes.ReplaceAll(raw, []byte(`"currentModeId"`), []byte(`"hidden"`))
	}
	return bytes.ReplaceAll(raw, []byte("/workspace"), []byte(dir))
}

// last holds the answer to a prompt back until the test lets it go.
func (p *Player) last(id json.RawMessage) {
	if string(id) != string(p.prompt) {
		return
	}
	p.prompt = nil
	if !p.Hold {
		return
	}
	p.Hold = false
	for range time.Tick(2 * time.Millisecond) {
		if _, err := os.Stat(filepath.Join(p.Dir, "go")); err == nil || p.Agent == "qwen" && p.pulled() {
			return
		}
	}
}

// pulled asks the client for messages to the turn, and reports whether there were any.
func (p *Player) pulled() bool {
	p.say(map[string]any{"jsonrpc": "2.0", "id": "pull", "method": "craft/drainMidTurnQueue", "params": map[string]any{"sessionId": "s"}})
	var got struct {
		Messages []string `json:"messages"`
	}
	_ = json.Unmarshal(p.await().Result, &got)
	for range got.Messages {
		p.update(map[string]any{"sessionUpdate": "agent_message_chunk", "content": map[string]any{"type": "text", "text": "As you say."}})
	}
	return len(got.Messages) > 0
}

// act does what the test wants at the first tool call.
func (p *Player) act(method string, raw json.RawMessage) {
	var u struct {
		Params struct {
			Update struct {
				Kind string `json:"sessionUpdate"` //nolint:tagliatelle // the protocol's name
			} `json:"update"`
		} `json:"params"`
	}
	_ = json.Unmarshal(raw, &u)
	if u.Params.Update.Kind != "tool_call" && method != `"session/request_permission"` {
		return
	}
	if p.Child {
		p.Child = false
		p.child()
	}
	if p.Die {
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	}
}

func (p *Player) child() {
	cmd := exec.Command("sh", "-c", `trap "" TERM HUP INT; while :; do sleep 1000; done`) //nolint:noctx // the agent's client ends it
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		panic(err)
	}
	path := filepath.Join(p.Dir, "child")
	_ = os.WriteFile(path+".new", []byte(strconv.Itoa(cmd.Process.Pid)), 0o600)
	_ = os.Rename(path+".new", path)
}

func (p *Player) say(m any) {
	text, err := json.Marshal(m)
	if err != nil {
		panic(err)
	}
	line := string(text)
	p.damage(line)
	_, _ = fmt.Fprintf(p.out, "%s\n", p.spoiled(line))
}

func (p *Player) answer(m message, result any) {
	p.say(map[string]any{"jsonrpc": "2.0", "id": m.ID, "result": result})
}

// improvise answers what the recording lacks.
func (p *Player) improvise(m message) {
	switch m.Method {
	case "initialize", "session/new":
		p.answer(m, p.basic(m.Method))
	case "session/load":
		p.update(map[string]any{"sessionUpdate": "agent_message_chunk", "content": map[string]any{"type": "text", "text": "What is replayed."}})
		p.update(map[string]any{"sessionUpdate": "tool_call", "toolCallId": "replayed", "title": "What is replayed", "status": "completed"})
		p.answer(m, map[string]any{})
	case "session/resume":
		p.answer(m, map[string]any{})
	case "session/set_mode":
		var set struct {
			Mode string `json:"modeId"` //nolint:tagliatelle // the protocol's name
		}
		_ = json.Unmarshal(m.Params, &set)
		p.mode(cmp.Or(p.Mode, set.Mode))
		p.answer(m, map[string]any{})
	case "session/prompt":
		p.prompt = nil
		p.update(map[string]any{"sessionUpdate": "agent_message_chunk", "messageId": "improvised", "content": map[string]any{"type": "text", "text": "As you say."}})
		p.answer(m, map[string]any{"stopReason": "end_turn"})
	case "session/cancel":
		if p.prompt != nil {
			p.answer(message{ID: p.prompt}, map[string]any{"stopReason": "cancelled"})
		}
	case "_session/steering":
		p.answer(m, map[string]any{"outcome": "injected"})
	default:
		if m.ID != nil {
			p.say(map[string]any{"jsonrpc": "2.0", "id": m.ID, "error": map[string]any{"code": -32601, "message": "method not found"}})
		}
	}
}

// mode tells a mode in the form of the agent.
func (p *Player) mode(mode string) {
	switch {
	case mode == "none":
	case p.Agent == "qwen":
		p.say(map[string]any{"jsonrpc": "2.0", "method": "qwen/notify/session/mode-update", "params": map[string]any{"v": 1, "sessionId": "s", "currentModeId": mode}})
	case p.Agent == "gemini":
		p.update(map[string]any{"sessionUpdate": "agent_message_chunk", "content": map[string]any{"type": "text", "text": "[MODE_UPDATE] " + mode}})
	default:
		p.update(map[string]any{"sessionUpdate": "config_option_update", "configOptions": []any{map[string]any{"id": "mode", "currentValue": mode}}})
	}
}

func (p *Player) update(u map[string]any) {
	p.say(map[string]any{"jsonrpc": "2.0", "method": "session/update", "params": map[string]any{"sessionId": "s", "update": u}})
}

// basic returns the recorded result of a request.
func (p *Player) basic(method string) any {
	var id string
	for _, f := range Sessions(p.Agent)["basic"] {
		if f.Out != nil && *f.Out == method {
			id = string(f.ID)
			continue
		}
		var got struct {
			ID     json.RawMessage `json:"id"`
			Result json.RawMessage `json:"result"`
		}
		if f.In != nil && id != "" && json.Unmarshal(f.In, &got) == nil && string(got.ID) == id {
			return got.Result
		}
	}
	panic("the recording has no answer to " + method)
}
