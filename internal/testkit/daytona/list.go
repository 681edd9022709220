package daytona

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// event is a change that lists show once it is old enough.
type event struct {
	at   time.Time
	body sandboxBody
}

const (
	pageDefault = 100
	pageMost    = 200
)

// publish queues the sandbox as it is now for the lists. The caller holds the lock.
func (s *Server) publish(b *box) {
	s.news = append(s.news, event{s.clock.now(), s.body(b)})
	s.show()
}

// show takes up what is old enough to show. The caller holds the lock.
func (s *Server) show() {
	then := s.clock.now().Add(-s.opts.ListLag)
	for len(s.news) > 0 && !s.news[0].at.After(then) {
		body := s.news[0].body
		s.news = s.news[1:]
		if s.shown[body.ID] = body; body.State == StateGone {
			delete(s.shown, body.ID)
		}
	}
}

// picture is what lists show now.
func (s *Server) picture() []sandboxBody {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.show()
	out := make([]sandboxBody, 0, len(s.shown))
	for _, body := range s.shown {
		body.Env, body.BuildInfo = nil, nil
		out = append(out, body)
	}
	return out
}

func number(text string) (int, error) {
	n, err := strconv.ParseFloat(text, 64) // the clients send numbers of floating point
	if err != nil || n != float64(int(n)) {
		return 0, badRequest("%q is not a whole number", text)
	}
	return int(n), nil
}

// list answers one page of the picture, in the order asked for.
func (s *Server) list(r *http.Request) (any, error) {
	query := r.URL.Query()
	limit := pageDefault
	if text := query.Get("limit"); text != "" {
		n, err := number(text)
		if err != nil || n < 1 || n > pageMost {
			return nil, badRequest("limit must be between 1 and %d", pageMost)
		}
		limit = n
	}
	keep, err := filter(query)
	if err != nil {
		return nil, err
	}
	less, err := order(query.Get("sort"), query.Get("order"))
	if err != nil {
		return nil, err
	}
	all := slices.DeleteFunc(s.picture(), func(b sandboxBody) bool { return !keep(b) })
	slices.SortFunc(all, less)
	return page(all, query.Get("cursor"), limit, less)
}

// filter reads what a list is narrowed by.
func filter(query url.Values) (func(sandboxBody) bool, error) {
	labels := map[string]string{}
	if text := query.Get("labels"); text != "" {
		if err := json.Unmarshal([]byte(text), &labels); err != nil {
			return nil, badRequest("labels must be a JSON object")
		}
	}
	begins := func(text, with string) bool { return strings.HasPrefix(strings.ToLower(text), strings.ToLower(with)) }
	among := func(key, value string) bool { return len(query[key]) == 0 || slices.Contains(query[key], value) }
	return func(b sandboxBody) bool {
		for key, value := range labels {
			if b.Labels[key] != value {
				return false
			}
		}
		return begins(b.ID, query.Get("id")) && begins(b.Name, query.Get("name")) && among("states", string(b.State)) &&
			among("snapshots", b.Snapshot) && among("regionIds", b.Target) && among("sandboxClasses", b.SandboxClass)
	}, nil
}

// order compares by one field and then by id; newest first where nothing is said.
func order(field, direction string) (func(a, b sandboxBody) int, error) {
	fields := map[string]func(a, b sandboxBody) int{
		"":               func(a, b sandboxBody) int { return cmp.Compare(a.CreatedAt, b.CreatedAt) },
		"createdAt":      func(a, b sandboxBody) int { return cmp.Compare(a.CreatedAt, b.CreatedAt) },
		"lastActivityAt": func(a, b sandboxBody) int { return cmp.Compare(a.LastActivityAt, b.LastActivityAt) },
		"name":           func(a, b sandboxBody) int { return cmp.Compare(a.Name, b.Name) },
		"cpu":            func(a, b sandboxBody) int { return cmp.Compare(a.CPU, b.CPU) },
		"memoryGib":      func(a, b sandboxBody) int { return cmp.Compare(a.Memory, b.Memory) },
		"diskGib":        func(a, b sandboxBody) int { return cmp.Compare(a.Disk, b.Disk) },
	}
	by, known := fields[field]
	if !known || !slices.Contains([]string{"", "asc", "desc"}, direction) {
		return nil, badRequest("sort or order is not known")
	}
	return func(a, b sandboxBody) int {
		n := cmp.Or(by(a, b), cmp.Compare(a.ID, b.ID))
		if direction != "asc" {
			return -n
		}
		return n
	}, nil
}

// page cuts one page out. The cursor is the last sandbox of the page before, as it was then:
// what changes meanwhile may show twice or not at all.
func page(all []sandboxBody, cursor string, limit int, less func(a, b sandboxBody) int) (listBody, error) {
	if cursor != "" {
		var last sandboxBody
		text, err := base64.RawURLEncoding.DecodeString(cursor)
		if err == nil {
			err = json.Unmarshal(text, &last)
		}
		if err != nil {
			return listBody{}, badRequest("Invalid cursor")
		}
		all = slices.DeleteFunc(all, func(b sandboxBody) bool { return less(b, last) <= 0 })
	}
	if len(all) <= limit {
		return listBody{Items: all}, nil
	}
	last := all[limit-1]
	text, err := json.Marshal(sandboxBody{
		ID: last.ID, Name: last.Name, CPU: last.CPU, Memory: last.Memory, Disk: last.Disk, CreatedAt: last.CreatedAt,
		LastActivityAt: last.LastActivityAt,
	})
	if err != nil {
		return listBody{}, err
	}
	next := base64.RawURLEncoding.EncodeToString(text)
	return listBody{Items: all[:limit], NextCursor: &next}, nil
}

// listOld is the list before there were cursors.
func (s *Server) listOld(*http.Request) (any, error) {
	return nil, refuse(http.StatusNotFound, "the emulator does not have the deprecated list; use GET /sandbox")
}
