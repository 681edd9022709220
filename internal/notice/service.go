package notice

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/omoi-dev/omoi/internal/credential"
	"github.com/omoi-dev/omoi/internal/explain"
	"github.com/omoi-dev/omoi/internal/task"
)

// Config holds the settings of a [Service].
type Config struct {
	Interval time.Duration // time between two checks for due deliveries
	PageURL  func() string // address of the page for links
	// Client returns the HTTP client for one request of a rule. It may reject the address.
	Client    func(req *http.Request) (*http.Client, error)
	Diagnoses Webhook
	Mail      Mail
}

// Webhook is the receiver of diagnoses and the secret of their signature.
type Webhook struct {
	URL    string // empty: no webhooks
	Secret string
	// Client returns the HTTP client for one request. It may reject the address.
	Client func(req *http.Request) (*http.Client, error)
}

// Due is a notice or a diagnosis to send now.
type Due struct {
	ID, Event string
	Body      string // facts of a notice; the text of a diagnosis
	Tries     int    // including this one
	Age       time.Duration
	CreatedAt time.Time

	RuleID         string // empty: a diagnosis
	OrganizationID string
	Channel        string
	Sealed         string
	Failures       int // failed requests of the rule since its last success
}

// Outcome is the result of one request.
type Outcome struct {
	ID, State, Error string
	Pause            time.Duration // of the delivery, if it stays pending
	RulePause        time.Duration // of all deliveries of its rule
}

// Store stores rules and deliveries.
type Store interface {
	// TakeDeliveries leases up to most due deliveries: one of each rule that is not busy, and one diagnosis if wanted.
	TakeDeliveries(ctx context.Context, q Taking) ([]Due, error)
	SettleDelivery(ctx context.Context, o Outcome) error
	DropOldNotices(ctx context.Context, age time.Duration) error

	InsertNoticeRule(ctx context.Context, r Rule, sealed string) (Rule, error)
	NoticeRules(ctx context.Context, q RuleQuery) ([]Rule, error)
	UpdateNoticeRule(ctx context.Context, c RuleChange) error
	DeleteNoticeRule(ctx context.Context, id string) error
}

// Taking selects deliveries.
type Taking struct {
	Lease     time.Duration
	Busy      []string // rules with a request under way
	Most      int
	Diagnoses bool
}

// Sealer encrypts texts for a place.
type Sealer interface {
	Seal(text string, place ...string) string
	Open(sealed string, place ...string) (string, error)
}

// Deps are the dependencies of a [Service].
type Deps struct {
	Store Store
	Ring  Sealer
	Log   *slog.Logger
}

// Service sends notices and diagnoses, and manages the rules. Several processes may run it at the same time.
type Service struct {
	cfg  Config
	deps Deps
}

// New returns a service.
func New(cfg Config, deps Deps) *Service { return &Service{cfg, deps} }

const (
	lease        = 2 * time.Minute // longer than a request may take
	mostRequests = 32              // concurrent requests of one process; a receiver has at most one
	keptFor      = 30 * 24 * time.Hour
	dropPeriod   = time.Hour
)

// lanes are the requests of one process that are under way, by rule. A receiver that hangs delays its own lane only.
type lanes struct {
	busy    map[string]bool
	done    chan string
	running sync.WaitGroup
}

// Run sends due deliveries until ctx ends.
func (s *Service) Run(ctx context.Context) error {
	l := &lanes{busy: map[string]bool{}, done: make(chan string, mostRequests)}
	defer l.running.Wait()
	var dropped time.Time
	for ctx.Err() == nil {
		if time.Since(dropped) > dropPeriod {
			s.note(ctx, "drop old notices failed, retrying", s.deps.Store.DropOldNotices(ctx, keptFor))
			dropped = time.Now()
		}
		n, err := s.start(ctx, l)
		s.note(ctx, "take deliveries failed, retrying", err)
		if n == 0 || err != nil {
			l.await(ctx, s.cfg.Interval)
		}
	}
	return nil
}

// Send sends the deliveries that are due now, at most one for each receiver, and waits for the answers.
func (s *Service) Send(ctx context.Context) error {
	l := &lanes{busy: map[string]bool{}, done: make(chan string, mostRequests)}
	_, err := s.start(ctx, l)
	l.running.Wait()
	return err
}

// start starts a request for each due delivery whose receiver is not busy, and returns their number.
func (s *Service) start(ctx context.Context, l *lanes) (int, error) {
	if len(l.busy) >= mostRequests {
		return 0, nil
	}
	due, err := s.deps.Store.TakeDeliveries(ctx, Taking{
		Lease: lease, Busy: slices.DeleteFunc(slices.Collect(maps.Keys(l.busy)), func(rule string) bool { return rule == "" }),
		Most: mostRequests - len(l.busy) - 1, Diagnoses: s.cfg.Diagnoses.URL != "" && !l.busy[""],
	})
	for _, d := range due {
		l.busy[d.RuleID] = true
		l.running.Go(func() {
			s.deliver(ctx, d)
			l.done <- d.RuleID
		})
	}
	return len(due), err
}

// await waits until a request ends, for the interval at most.
func (l *lanes) await(ctx context.Context, interval time.Duration) {
	timer := time.NewTimer(interval)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	case rule := <-l.done:
		delete(l.busy, rule)
	}
}

// deliver sends one delivery and records the outcome. Without a record, another process sends it again after the lease.
func (s *Service) deliver(ctx context.Context, d Due) {
	problem := s.request(ctx, d)
	if ctx.Err() != nil {
		return
	}
	o := Outcome{ID: d.ID, State: explain.DeliveryDelivered, Pause: DeliveryPause(d.Tries)}
	if problem != nil {
		o.State, o.Error, o.RulePause = explain.DeliveryPending, problem.Error(), DeliveryPause(d.Failures+1)
		if d.Age > DeliveryWindow {
			o.State = explain.DeliveryFailed
		}
		s.deps.Log.WarnContext(ctx, "send notice failed", slog.String("delivery_id", d.ID), slog.String("rule_id", d.RuleID),
			slog.Int("attempts", d.Tries), slog.String("error", o.Error))
	}
	s.note(ctx, "settle delivery failed", s.deps.Store.SettleDelivery(ctx, o))
}

func (s *Service) request(ctx context.Context, d Due) error {
	o := outgoing{id: d.ID, event: d.Event, at: d.CreatedAt, client: s.cfg.Client, mail: s.cfg.Mail}
	if d.RuleID == "" {
		o.to, o.client = Address{URL: s.cfg.Diagnoses.URL, Secret: s.cfg.Diagnoses.Secret}, s.cfg.Diagnoses.Client
		o.event = diagnosed
		return o.signed(ctx, d.Body)
	}
	facts, err := ParseFacts(d.Body)
	if err == nil {
		o.to, err = s.open(d.Sealed, d.OrganizationID, d.RuleID)
	}
	if err != nil {
		return err
	}
	return o.send(ctx, d.Channel, facts.Message(d.Event, s.cfg.PageURL()))
}

func (s *Service) seal(a Address, organizationID, ruleID string) string {
	return s.deps.Ring.Seal(a.text(), credential.NoticePlace, organizationID, ruleID)
}

func (s *Service) open(sealed, organizationID, ruleID string) (a Address, err error) {
	text, err := s.deps.Ring.Open(sealed, credential.NoticePlace, organizationID, ruleID)
	if err == nil {
		err = json.Unmarshal([]byte(text), &a)
	}
	if err != nil {
		return a, errors.New("the address cannot be decrypted: OMOI_CREDENTIAL_KEYS lacks its key")
	}
	return a, nil
}

// note logs a failure of the service itself.
func (s *Service) note(ctx context.Context, what string, err error) {
	if err != nil && ctx.Err() == nil {
		s.deps.Log.WarnContext(ctx, "notice step failed", slog.String("step", what), slog.String("error", task.MessageOf(err)))
	}
}

// DeliveryWindow is the maximum time for which a delivery is retried.
const DeliveryWindow = 72 * time.Hour

// DeliveryPause is the pause after the n-th failed try (from 1): ten seconds, doubled, at most an hour.
func DeliveryPause(n int) time.Duration {
	const first, doublings = 10 * time.Second, 9
	return min(first<<min(max(n-1, 0), doublings), time.Hour)
}
