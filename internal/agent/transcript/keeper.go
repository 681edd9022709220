package transcript

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"sync"
	"time"

	"github.com/omoi-dev/omoi/internal/agent/apiclient"
	"github.com/omoi-dev/omoi/internal/redact"
	"github.com/omoi-dev/omoi/internal/transcript"
	"github.com/omoi-dev/omoi/internal/wait"
)

// Config configures a keeper. A zero duration means the default.
type Config struct {
	RunID   string
	Every   time.Duration // interval of uploads; default 1 min
	Backoff time.Duration // first wait after a failure in Finish; default 200 ms
	Secrets *redact.Hider // removes secrets from every line; nil: none are known
	// Beside is the path of a log of the files next to the transcript, which is sent as the run RunID+[Beside]; empty:
	// these files are not sent.
	Beside string
}

// Keeper sends the new lines of a transcript. A Keeper is safe for concurrent use.
type Keeper struct {
	cfg  Config
	line *apiclient.Client
	log  *slog.Logger

	mu      sync.Mutex // held during an upload
	path    string
	session string
	place   place
	refused bool // the API has finally rejected the transcript of this run
	// results has the ends of the lines with results of tool calls, in bytes as they were sent, by ID of the call.
	results map[string]int64

	beside *besideLog // log of the session; nil before Follow
	side   *Keeper    // sends the log; nil if Config.Beside is empty
}

// place is the position up to which a transcript was sent.
type place struct {
	at   int64 // bytes in the file
	sent int64 // bytes as they were sent
	sum  uint32
}

// New returns a keeper without a transcript.
func New(cfg Config, line *apiclient.Client, log *slog.Logger) *Keeper {
	cfg.Every = cmp.Or(max(cfg.Every, 0), time.Minute)
	cfg.Backoff = cmp.Or(max(cfg.Backoff, 0), 200*time.Millisecond)
	k := &Keeper{cfg: cfg, line: line, log: log, results: map[string]int64{}}
	if cfg.Beside != "" {
		side := cfg
		side.RunID, side.Beside = cfg.RunID+transcript.Beside, ""
		k.side = New(side, line, log)
	}
	return k
}

// Follow sets the transcript file, and the session ID with which its program resumes.
func (k *Keeper) Follow(path, session string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if path != k.path {
		k.place = place{}
		clear(k.results)
	}
	if path != k.path && k.side != nil {
		k.beside = newBeside(path, k.cfg.Beside)
		k.side.Follow("", "") // the log starts again
		k.side.Follow(k.cfg.Beside, session)
	}
	k.path, k.session = path, session
}

// Run sends at intervals until ctx ends. After a failure it retries at the next interval.
func (k *Keeper) Run(ctx context.Context) {
	for {
		if wait.For(ctx, k.cfg.Every/4+wait.Jitter(k.cfg.Every)) != nil {
			return
		}
		if err := k.Send(ctx); err != nil {
			k.log.DebugContext(ctx, "send transcript failed, retrying", slog.Any("error", err))
		}
	}
}

// Finish sends the rest, and retries until ctx ends.
func (k *Keeper) Finish(ctx context.Context) error {
	return repeat(ctx, k.cfg.Backoff, func() (again bool, err error) { return true, k.Send(ctx) })
}

// Send sends the new lines of the transcript and of the files next to it.
func (k *Keeper) Send(ctx context.Context) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	err := k.sendFile(ctx)
	if k.beside == nil {
		return err
	}
	k.beside.look()
	return errors.Join(err, k.side.Send(ctx))
}

// Sent returns the run of the transcript and the length that was sent, in bytes. The run is empty if nothing was sent.
func (k *Keeper) Sent() (runID string, length int64) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.place.sent == 0 {
		return "", 0
	}
	return k.cfg.RunID, k.place.sent
}

func (k *Keeper) sendFile(ctx context.Context) error {
	if k.path == "" || k.refused {
		return nil
	}
	f, err := os.Open(k.path)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("open transcript: %w", err)
	}
	defer func() { _ = f.Close() }()
	info, err := f.Stat()
	if err != nil {
		return fmt.Errorf("read transcript: %w", err)
	}
	replace := info.Size() < k.place.at // the file was replaced by a shorter one
	if replace {
		k.place = place{}
		clear(k.results)
	}
	return k.sendAll(ctx, f, replace)
}

func (k *Keeper) sendAll(ctx context.Context, f *os.File, replace bool) error {
	for !k.refused {
		piece, raw, err := read(f, k.place.at, k.cfg.Secrets)
		if err != nil || len(piece) == 0 {
			return err
		}
		mark, err := k.put(ctx, piece, replace)
		if err != nil {
			return err
		}
		switch {
		case mark.Stored:
			k.noteResults(piece)
			k.place, replace = k.place.after(piece, raw), false
		case replace:
			return errors.New("the API rejects the transcript from its start")
		default: // another process of this run has sent a part, or the file is another one
			if k.place, err = find(f, mark, k.cfg.Secrets); err != nil {
				return err
			}
			replace = k.place.sent == 0 && mark.Received > 0
		}
	}
	return nil
}

func (p place) after(piece []byte, raw int64) place {
	return place{at: p.at + raw, sent: p.sent + int64(len(piece)), sum: transcript.Sum(p.sum, piece)}
}

func (k *Keeper) put(ctx context.Context, piece []byte, replace bool) (transcript.Mark, error) {
	query := url.Values{"session_id": {k.session}}
	if replace {
		query.Set("replace", "true")
	} else {
		query.Set("offset", strconv.FormatInt(k.place.sent, 10))
		query.Set("sum", strconv.FormatUint(uint64(k.place.sum), 10))
	}
	var mark transcript.Mark
	answer, err := k.line.Put(ctx, "/transcripts/"+url.PathEscape(k.cfg.RunID)+"?"+query.Encode(), piece)
	switch {
	case err != nil:
		return mark, err
	case answer.Status == http.StatusOK:
		if err := json.Unmarshal(answer.Body, &mark); err != nil {
			return mark, fmt.Errorf("read the API's answer: %w", err)
		}
		return mark, nil
	case final(answer):
		k.refused = true
		k.log.WarnContext(ctx, "transcript rejected by the api, sending stopped", slog.Int("status", answer.Status))
		return mark, nil
	}
	return mark, fmt.Errorf("the API answered %d", answer.Status)
}

// final reports whether omoi has finally rejected the transcript. 401 is not final, because the token may not be known
// yet.
func final(answer apiclient.Answer) bool {
	return answer.Code != "" && answer.Status/100 == 4 && answer.Status != http.StatusUnauthorized && !answer.Later()
}
