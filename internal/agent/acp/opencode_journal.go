package acp

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strconv"

	"github.com/omoi-dev/omoi/internal/agent/textcut"
	"github.com/omoi-dev/omoi/internal/agent/transcript"
	"github.com/omoi-dev/omoi/internal/jsonrpc"
)

const (
	opencodeUser = "opencode"
	longestLine  = 2 << 20 // a longer change is left out, as in any transcript
)

// Kinds of changes.
const (
	changeSession = "session"
	changeMessage = "message"
	changePart    = "part"
	changeGone    = "gone" // a message or part was removed
)

// change is a line of the file of a session.
type change struct {
	Kind string          `json:"type"`
	ID   string          `json:"id"`
	Of   string          `json:"message_id,omitempty"` // message of a part
	Data json.RawMessage `json:"payload,omitempty"`
}

// journal adds changes to the file of a session, each once.
type journal struct {
	log  transcript.Log
	seed maphash.Seed
	last map[string]uint64 // newest change by ID
}

// serveOpencode has the program tell changes to those who know the password.
func serveOpencode(from Teller) (args []string, more Vars) {
	return []string{"--port", strconv.Itoa(from.Port)}, Vars{"OPENCODE_SERVER_USERNAME": opencodeUser, "OPENCODE_SERVER_PASSWORD": from.Secret}
}

// followOpencode adds what opencode's server tells of a session to its file.
func followOpencode(ctx context.Context, from Teller, path string, ready func()) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return fmt.Errorf("create folder of the session: %w", err)
	}
	j := &journal{log: transcript.Log{Path: path}, seed: maphash.MakeSeed(), last: map[string]uint64{}}
	defer j.log.Close()
	if err := eachChange(path, j.known); err != nil {
		return err
	}
	events, err := from.get(ctx, "/event")
	if err != nil {
		return err
	}
	defer func() { _ = events.Close() }()
	lines := bufio.NewReaderSize(events, 64<<10)
	if _, _, err := lines.ReadLine(); err != nil { // the greeting: changes follow
		return fmt.Errorf("read changes of the session: %w", err)
	}
	if err := j.whole(ctx, from); err != nil {
		return err
	}
	ready()
	for {
		line, _, err := textcut.ReadLine(lines, longestLine, 0)
		if data, ok := bytes.CutPrefix(line, []byte("data: ")); ok {
			j.take(from.Session, data)
		}
		if err != nil { // the program has ended, or its end follows
			return nil
		}
	}
}

// get asks opencode's server.
func (t Teller) get(ctx context.Context, path string) (io.ReadCloser, error) {
	address := fmt.Sprintf("http://127.0.0.1:%d%s?directory=%s", t.Port, path, url.QueryEscape(t.Work))
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, fmt.Errorf("ask opencode: %w", err)
	}
	req.SetBasicAuth(opencodeUser, t.Secret)
	answer, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(req) // no proxy
	if err != nil {
		return nil, fmt.Errorf("ask opencode: %w", err)
	}
	if answer.StatusCode != http.StatusOK {
		_ = answer.Body.Close()
		return nil, fmt.Errorf("ask opencode for %s: status %d", path, answer.StatusCode)
	}
	return answer.Body, nil
}

// whole adds what the session holds now.
func (j *journal) whole(ctx context.Context, from Teller) error {
	session, err := from.get(ctx, "/session/"+url.PathEscape(from.Session))
	if err != nil {
		return err
	}
	defer func() { _ = session.Close() }()
	raw, err := io.ReadAll(io.LimitReader(session, longestLine))
	if err != nil {
		return fmt.Errorf("read the session: %w", err)
	}
	j.note(changeSession, "", raw)
	messages, err := from.get(ctx, "/session/"+url.PathEscape(from.Session)+"/message")
	if err != nil {
		return err
	}
	defer func() { _ = messages.Close() }()
	list := json.NewDecoder(messages)
	for _, err = list.Token(); err == nil && list.More(); {
		var m opencodeMessage
		if err = list.Decode(&m); err != nil {
			break
		}
		j.note(changeMessage, "", m.Info)
		for _, part := range m.Parts {
			j.note(changePart, "", part)
		}
	}
	if err != nil {
		return fmt.Errorf("read the messages of the session: %w", err)
	}
	return nil
}

type opencodeMessage struct {
	Info  json.RawMessage   `json:"info"`
	Parts []json.RawMessage `json:"parts"`
}

// take adds what an event tells of a session.
func (j *journal) take(session string, event []byte) {
	e := jsonrpc.Into[struct {
		Type string `json:"type"`
		Of   struct {
			Session string          `json:"sessionID"` //nolint:tagliatelle // as opencode writes it
			Info    json.RawMessage `json:"info"`
			Part    json.RawMessage `json:"part"`
			Message string          `json:"messageID"` //nolint:tagliatelle // as opencode writes it
			PartID  string          `json:"partID"`    //nolint:tagliatelle // as opencode writes it
		} `json:"properties"`
	}](event)
	if e.Of.Session != session {
		return
	}
	switch e.Type {
	case "session.updated":
		j.note(changeSession, "", e.Of.Info)
	case "message.updated":
		j.note(changeMessage, "", e.Of.Info)
	case "message.part.updated":
		j.note(changePart, "", e.Of.Part)
	case "message.removed":
		j.note(changeGone, e.Of.Message, nil)
	case "message.part.removed":
		j.note(changeGone, e.Of.PartID, nil)
	}
}

// note adds a change, unless it tells nothing new. A running tool is added once, although it tells its output again and again.
func (j *journal) note(kind, id string, raw json.RawMessage) {
	c := change{Kind: kind, ID: id}
	if kind != changeGone {
		in := json.NewDecoder(bytes.NewReader(raw))
		in.UseNumber()
		var data map[string]any
		if in.Decode(&data) != nil {
			return
		}
		if data["role"] == "user" {
			delete(data, "summary") // all changes of the work tree, again after each step
		}
		c.ID, _ = data["id"].(string)
		c.Of, _ = data["messageID"].(string)
		c.Data, _ = json.Marshal(data) //nolint:errchkjson // decoded from JSON
	}
	if sum := j.sum(c); j.last[c.ID] != sum {
		j.last[c.ID] = sum
		j.log.Note(c)
	}
}

// known notes a change that the file has.
func (j *journal) known(c change) { j.last[c.ID] = j.sum(c) }

func (j *journal) sum(c change) uint64 {
	state := jsonrpc.Into[struct {
		State struct {
			Status string `json:"status"`
		} `json:"state"`
	}](c.Data).State.Status
	if state == "running" {
		return maphash.String(j.seed, state)
	}
	return maphash.Bytes(j.seed, append([]byte(c.Kind), c.Data...))
}

// eachChange calls do for each line of a session's file, which need not exist.
func eachChange(path string, do func(c change)) error {
	file, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("open the session: %w", err)
	}
	defer func() { _ = file.Close() }()
	for lines := bufio.NewReaderSize(file, 64<<10); ; {
		line, _, err := textcut.ReadLine(lines, longestLine, 0)
		if c := jsonrpc.Into[change](line); c.ID != "" {
			do(c)
		}
		if err != nil {
			return nil
		}
	}
}

// importOpencode writes the session as opencode exports it.
func importOpencode(path, to string) (args []string, err error) {
	newest, order := map[string]change{}, []string{}
	session := change{}
	err = eachChange(path, func(c change) {
		if c.Kind == changeSession {
			session = c
			return
		}
		if _, ok := newest[c.ID]; !ok {
			order = append(order, c.ID)
		}
		newest[c.ID] = c
	})
	switch {
	case err != nil:
		return nil, err
	case session.ID == "":
		return nil, errors.New("the file holds no session of opencode")
	}
	messages := map[string]*opencodeMessage{}
	all := []*opencodeMessage{}
	for _, id := range order {
		switch c := newest[id]; {
		case c.Kind == changeMessage:
			messages[id] = &opencodeMessage{Info: c.Data, Parts: []json.RawMessage{}}
			all = append(all, messages[id])
		case c.Kind == changePart && messages[c.Of] != nil:
			messages[c.Of].Parts = append(messages[c.Of].Parts, c.Data)
		}
	}
	text, err := json.Marshal(map[string]any{"info": session.Data, "messages": all})
	if err == nil {
		err = os.WriteFile(to, text, 0o600)
	}
	if err != nil {
		return nil, fmt.Errorf("write the session: %w", err)
	}
	return []string{"import", to}, nil
}
