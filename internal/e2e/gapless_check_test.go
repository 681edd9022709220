package e2e_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	apiclient "github.com/omoi-dev/omoi/api/client"
)

// check compares what is stored, what was said and what was read.
func (p *proof) check() {
	p.t.Helper()
	for answer, times := range p.strange {
		p.t.Errorf("%d times: %s\n%s", times, answer, p.logOf(answer))
	}
	for _, a := range p.tellers {
		p.checkTeller(a)
	}
	for _, c := range p.posters {
		p.checkPoster(c)
	}
	for _, b := range p.boxes {
		b.check()
	}
	p.checkReaders()
	p.checkWatchers()
	p.checkMemory()
	p.gapless()
	p.noLeaks()
}

// logOf finds what the servers have logged of a refused request.
func (p *proof) logOf(answer string) string {
	_, rest, _ := strings.Cut(answer, `"instance":"`)
	id, _, found := strings.Cut(rest, `"`)
	var lines []string
	for i := range p.direct {
		raw, _ := os.ReadFile(filepath.Join(p.dir, apiName(i)+".log"))
		for line := range strings.Lines(string(raw)) {
			if found && strings.Contains(line, id) {
				lines = append(lines, line)
			}
		}
	}
	return strings.Join(lines, "")
}

// checkTeller holds what is stored of an agent to what it said: the n-th is its n-th.
func (p *proof) checkTeller(a *teller) {
	p.t.Helper()
	var want []sight
	for n := 1; n <= p.events; n++ {
		said := sayingOf(p.seed, a.box, n, p.events)
		want = append(want, sight{Sequence: int64(n), Kind: said.kind, N: n, Text: sumOf(said.text)})
	}
	same(p, a.name+", sandbox "+a.box+", stored against said", want, p.storedIn(a.box))
	p.checkIntegrity(a.box)
	p.checkPages(a.box, "events")
	p.checkPages(a.box, "trajectory")
	for n := 1; n <= p.events; n++ {
		if said := sayingOf(p.seed, a.box, n, p.events); said.diff != "" {
			p.checkLarge(a.box, n, said.diff)
		}
	}
	assert.Zero(p.t, p.count(`SELECT count(*) FROM event_spools WHERE sandbox_id = $1`, a.box), "%s has taken another spool id: the server has contradicted itself", a.name)
	assert.Equal(p.t, 1, p.task(a.task).AttemptCount, "attempts of %s", a.name)
}

// checkLarge reads the field that is too large for lists.
func (p *proof) checkLarge(box string, n int, diff string) {
	p.t.Helper()
	var e apiclient.Event
	p.read("/api/v1/sandboxes/"+box+"/events/"+box+":"+strconv.Itoa(n), &e)
	var data struct {
		Diff string `json:"full_diff"`
	}
	require.NoError(p.t, json.Unmarshal(e.Data, &data))
	assert.Equal(p.t, sumOf(diff), sumOf(data.Diff), "event %d of %s: a diff of %d bytes came back with %d", n, box, len(diff), len(data.Diff))
}

// checkPages walks a list from its newest event to its oldest.
func (p *proof) checkPages(box, list string) {
	p.t.Helper()
	var seen []sight
	for cursor := new(string); cursor != nil; {
		var page apiclient.Trajectory // the other list has these fields too
		p.read(fmt.Sprintf("/api/v1/sandboxes/%s/%s?limit=70&cursor=%s", box, list, *cursor), &page)
		for _, e := range page.Events {
			_, number, _ := strings.Cut(e.ID, ":")
			sequence, _ := strconv.ParseInt(number, 10, 64)
			seen = append(seen, sightOf(sequence, e.EventType, e.EventData))
		}
		cursor = page.NextCursor
	}
	slices.Reverse(seen)
	same(p, "pages of "+list+" of "+box+" against stored", p.storedIn(box), seen)
}

func (p *proof) checkIntegrity(box string) {
	p.t.Helper()
	var found apiclient.Integrity
	p.read("/api/v1/sandboxes/"+box+"/integrity", &found)
	assert.True(p.t, found.Gapless, "%s: %+v", box, found)
}

// checkPoster holds every acknowledgement to the row that it names, and repeats with a key
// to one row.
func (p *proof) checkPoster(c *poster) {
	p.t.Helper()
	rows := p.storedIn(c.box)
	times := map[int]int{}
	for i, row := range rows {
		assert.EqualValues(p.t, i+1, row.Sequence, "%s: sequence", c.box)
		times[row.N]++
	}
	for i, ids := range c.acknowledged {
		n := i + 1
		for _, id := range ids {
			sequence, err := strconv.Atoi(strings.TrimPrefix(id, c.box+":"))
			if assert.NoError(p.t, err) && assert.LessOrEqual(p.t, sequence, len(rows), "event %d of %s was acknowledged as %s, which is not stored", n, c.box, id) {
				assert.Equal(p.t, n, rows[sequence-1].N, "event %d of %s was acknowledged as %s, which is another", n, c.box, id)
				assert.Equal(p.t, sumOf(c.text(n)), rows[sequence-1].Text, "what event %d of %s says", n, c.box)
			}
		}
		if c.keyed {
			assert.Equal(p.t, 1, times[n], "event %d of %s has a key", n, c.box)
			assert.Len(p.t, slices.Compact(slices.Clone(ids)), 1, "ids of event %d of %s", n, c.box)
		}
		assert.GreaterOrEqual(p.t, times[n], 1, "event %d of %s was acknowledged", n, c.box)
	}
	p.checkIntegrity(c.box)
}

// checkReaders holds what each reader has seen to what is stored.
func (p *proof) checkReaders() {
	p.t.Helper()
	breaks := map[string]int{}
	for _, r := range p.readers {
		breaks[r.kind] += r.breaks
		if b := p.boxedOf(r.task); b != nil {
			b.checkReader(r)
			continue
		}
		stored := p.storedIn(r.box)
		if r.task == "" { // a post without an answer may have come later than its reader has stayed
			stored = stored[:min(len(r.seen), len(stored))]
		}
		same(p, r.name()+", seen against stored", stored, r.seen)
	}
	p.t.Logf("readers began again: %v", breaks)
}

// storedIn is what a sandbox's table holds.
func (p *proof) storedIn(box string) []sight {
	p.t.Helper()
	if rows, known := p.stored[box]; known {
		return rows
	}
	rows, err := p.pool.Query(context.Background(), `SELECT sequence, event_type, event_data FROM sandbox_events WHERE sandbox_id = $1 ORDER BY sequence`, box)
	require.NoError(p.t, err)
	defer rows.Close()
	found := []sight{}
	for rows.Next() {
		var sequence int64
		var kind string
		var data []byte
		require.NoError(p.t, rows.Scan(&sequence, &kind, &data))
		found = append(found, sightOf(sequence, kind, data))
	}
	require.NoError(p.t, rows.Err())
	p.stored[box] = found
	return found
}

// same compares two lists and names the numbers where they part.
func same(p *proof, what string, want, got []sight) {
	p.t.Helper()
	if slices.Equal(want, got) {
		return
	}
	times := map[int64]int{}
	for _, s := range got {
		times[s.Sequence]++
	}
	var missing, doubled, other []int64
	for i, s := range want {
		switch {
		case times[s.Sequence] == 0:
			missing = append(missing, s.Sequence)
		case times[s.Sequence] > 1:
			doubled = append(doubled, s.Sequence)
		case i < len(got) && got[i] != s:
			other = append(other, s.Sequence)
		}
	}
	p.t.Errorf("%s: %d wanted, %d there; missing %s, doubled %s, other or elsewhere %s (seed %d)",
		what, len(want), len(got), some(missing), some(doubled), some(other), p.seed)
}

// some is a list of numbers, cut short.
func some(numbers []int64) string {
	const most = 12
	if len(numbers) > most {
		return fmt.Sprintf("%v and %d more", numbers[:most], len(numbers)-most)
	}
	return fmt.Sprint(numbers)
}

// checkMemory looks how large the API processes ever were.
func (p *proof) checkMemory() {
	p.t.Helper()
	const most = 500 << 10 // kB
	for i := range p.direct {
		if peak, err := memoryOf(p.procs[apiName(i)].cmd.Process.Pid); err == nil { // else a system that does not tell
			assert.Less(p.t, peak, most, "memory of API %d", i)
		}
	}
}

// memoryOf is how many kB a process ever had.
func memoryOf(pid int) (int, error) {
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, err
	}
	_, rest, _ := strings.Cut(string(raw), "VmHWM:")
	kb, _, _ := strings.Cut(strings.TrimSpace(rest), " ")
	return strconv.Atoi(kb)
}

// read asks an API without the bad network.
func (p *proof) read(path string, out any) {
	p.t.Helper()
	res, err := http.Get(p.direct[0] + path)
	require.NoError(p.t, err)
	defer res.Body.Close()
	require.Equal(p.t, http.StatusOK, res.StatusCode, path)
	require.NoError(p.t, json.NewDecoder(res.Body).Decode(out))
}
