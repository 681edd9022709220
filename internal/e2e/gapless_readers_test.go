package e2e_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	apiclient "github.com/omoi-dev/omoi/api/client"
)

// sight is an event as a reader has seen it.
type sight struct {
	Sequence int64
	Kind     string
	N        int    // what its sender numbered it
	Text     uint64 // a sum of what it says
}

func sightOf(sequence int64, kind string, data []byte) sight {
	var said struct {
		N    int    `json:"n"`
		Text string `json:"text"`
	}
	_ = json.Unmarshal(data, &said) // one that is broken is not what was stored
	return sight{Sequence: sequence, Kind: kind, N: said.N, Text: sumOf(said.Text)}
}

func sumOf(text string) uint64 {
	sum := fnv.New64a()
	_, _ = sum.Write([]byte(text))
	return sum.Sum64()
}

// Ways to read.
const (
	readSandboxStream = "sandbox stream"
	readTaskStream    = "task stream"
	readTaskEvents    = "task's long poll"
	readTrajectory    = "trajectory"
)

func readerKinds() []string {
	return []string{readSandboxStream, readTaskStream, readTaskEvents, readTrajectory}
}

// reader follows somebody through the bad network, and goes on where it was cut off.
type reader struct {
	p         *proof
	kind      string
	box, task string // a task's readers need no box
	rng       *rand.Rand

	seen   []sight
	boxes  []string // of which each of them is
	place  string   // where to go on
	breaks int      // how often it had to begin again
	done   bool
}

func (r *reader) name() string { return fmt.Sprintf("%s of %s%s", r.kind, r.task, " "+r.box) }

// openReaders gives each agent some readers, other ones than the next one, and each poster one.
func (p *proof) openReaders() {
	kinds := readerKinds()
	add := func(kind, box, taskID string) {
		p.readers = append(p.readers, &reader{p: p, kind: kind, box: box, task: taskID, rng: p.random(5000 + len(p.readers))})
	}
	for i, a := range p.tellers {
		for n := range p.size.readers {
			add(kinds[(i*p.size.readers+n)%len(kinds)], a.box, a.task)
		}
	}
	for i, c := range p.posters {
		add([]string{readSandboxStream, readTrajectory}[i%2], c.box, "")
	}
	for _, b := range p.boxes {
		add(readTaskStream, "", b.task)
		add(readTaskEvents, "", b.task)
	}
}

// run reads until everything is seen.
func (r *reader) run() {
	for ; !r.done && r.p.life.Err() == nil; r.breaks++ {
		switch r.kind {
		case readSandboxStream:
			r.stream("/api/v1/sandboxes/" + r.box + "/stream")
		case readTaskStream:
			r.stream("/api/v1/tasks/" + r.task + "/stream")
		case readTaskEvents:
			r.longPoll()
		case readTrajectory:
			r.page()
		}
		r.done = r.done || r.sawAll()
		if !r.done {
			pause(r.p.life, time.Duration(1+r.rng.IntN(30))*time.Millisecond)
		}
	}
}

// sawAll is for those who are not told that nothing more will come.
func (r *reader) sawAll() bool {
	return r.box != "" && r.p.speaking.Err() != nil && int64(len(r.seen)) >= r.p.heads[r.box]
}

// stream reads server-sent events until the connection ends. An event counts once the empty
// line behind it has come.
func (r *reader) stream(path string) {
	ctx, leave := context.WithCancel(r.p.life)
	defer leave()
	const longest = 25 * time.Second // the server says something every 15 s
	silence := time.AfterFunc(longest, leave)
	defer silence.Stop()
	if r.task == "" && r.p.speaking.Err() == nil { // nobody will tell that this was all
		defer context.AfterFunc(r.p.speaking, leave)()
	}
	header := http.Header{}
	if r.place != "" {
		header.Set("Last-Event-ID", r.place)
	}
	res, err := r.p.open(ctx, http.MethodGet, path, header, nil)
	if err != nil {
		return
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		body, _ := io.ReadAll(res.Body)
		r.p.saw(r.name(), res.StatusCode, res.Header.Get("Retry-After") != "", body)
		return
	}
	lines := bufio.NewReader(res.Body)
	var id, kind, data string
	for !r.done {
		line, err := lines.ReadString('\n')
		if err != nil {
			return
		}
		silence.Reset(longest)
		switch name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ": "); name {
		case "id":
			id = value
		case "event":
			kind = value
		case "data":
			data = value
		case "":
			r.dispatch(id, kind, data)
			id, kind, data = "", "", ""
			if r.sawAll() {
				return
			}
		}
	}
}

func (r *reader) dispatch(id, kind, data string) {
	switch {
	case kind == "end":
		r.done = true
	case data != "":
		var e apiclient.Event
		if err := json.Unmarshal([]byte(data), &e); err != nil {
			r.p.t.Errorf("%s: event %s is no JSON: %v", r.name(), id, err)
		}
		r.place = id
		r.see(e.SandboxID, sightOf(e.Sequence, e.Type, e.Data))
	}
}

func (r *reader) see(box string, s sight) {
	r.seen, r.boxes = append(r.seen, s), append(r.boxes, box)
}

// longPoll asks once for what comes next.
func (r *reader) longPoll() {
	var page apiclient.TaskEventList
	path := fmt.Sprintf("/api/v1/tasks/%s/events?wait=5s&limit=%d&cursor=%s", r.task, 1+r.rng.IntN(60), r.place)
	if !r.get(path, &page) {
		return
	}
	for _, e := range page.Items {
		r.see(e.SandboxID, sightOf(e.Sequence, e.Type, e.Data))
	}
	if r.done = page.NextCursor == nil; !r.done {
		r.place = *page.NextCursor
	}
}

// page asks once for the next page towards the newest.
func (r *reader) page() {
	var page apiclient.Trajectory
	path := fmt.Sprintf("/api/v1/sandboxes/%s/trajectory?direction=newer&limit=%d&cursor=%s", r.box, 1+r.rng.IntN(60), r.place)
	if !r.get(path, &page) {
		return
	}
	for _, e := range slices.Backward(page.Events) {
		_, number, _ := strings.Cut(e.ID, ":")
		sequence, _ := strconv.ParseInt(number, 10, 64)
		r.see(r.box, sightOf(sequence, e.EventType, e.EventData))
	}
	if page.PrevCursor != nil {
		r.place = *page.PrevCursor
	}
	if len(page.Events) == 0 {
		pause(r.p.life, 100*time.Millisecond) // it cannot be waited for
	}
}

func (r *reader) get(path string, out any) bool {
	status, body, err := r.p.ask(r.name(), http.MethodGet, path, nil, nil)
	if err != nil {
		return false
	}
	return status == http.StatusOK && json.Unmarshal(body, out) == nil
}

// ask sends one request through the bad network and reads the whole answer, or fails.
func (p *proof) ask(who, method, path string, header http.Header, in any) (int, []byte, error) {
	ctx, cancel := context.WithTimeout(p.life, 10*time.Second)
	defer cancel()
	res, err := p.open(ctx, method, path, header, in)
	if err != nil {
		return 0, nil, err
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err == nil {
		p.saw(who, res.StatusCode, res.Header.Get("Retry-After") != "", body)
	}
	return res.StatusCode, body, err
}

func (p *proof) open(ctx context.Context, method, path string, header http.Header, in any) (*http.Response, error) {
	var body io.Reader
	if in != nil {
		content, err := json.Marshal(in)
		if err != nil {
			return nil, err
		}
		body = bytes.NewReader(content)
	}
	req, err := http.NewRequestWithContext(ctx, method, p.net.URL()+path, body)
	if err != nil {
		return nil, err
	}
	maps.Copy(req.Header, header)
	if in != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	return p.client.Do(req)
}

// pause waits a little before the next try, as clients do.
func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}
