package notice_test

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"log/slog"
	"mime"
	"mime/quotedprintable"
	"net"
	"net/http/httptest"
	"net/mail"
	"strings"
	"testing"
	"time"

	"github.com/emersion/go-sasl"
	"github.com/emersion/go-smtp"
	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/credential"
	"github.com/omoi-dev/omoi/internal/explain"
	"github.com/omoi-dev/omoi/internal/notice"
	"github.com/omoi-dev/omoi/internal/task"
)

// mailbox is a mail server with one account.
type mailbox struct {
	got    []string // received e-mails
	refuse error
}

// mailSession is a connection to a mailbox.
type mailSession struct {
	box   *mailbox
	known bool
}

func (b *mailbox) NewSession(*smtp.Conn) (smtp.Session, error) { return &mailSession{box: b}, nil }

func (*mailSession) AuthMechanisms() []string { return []string{sasl.Plain} }

func (s *mailSession) Auth(string) (sasl.Server, error) {
	return sasl.NewPlainServer(func(_, user, password string) error {
		s.known = user == "omoi" && password == "planted-password"
		if !s.known {
			return errors.New("wrong password")
		}
		return nil
	}), nil
}

func (s *mailSession) Mail(string, *smtp.MailOptions) error {
	if !s.known {
		return smtp.ErrAuthRequired
	}
	return s.box.refuse
}

func (*mailSession) Rcpt(string, *smtp.RcptOptions) error { return nil }

func (s *mailSession) Data(r io.Reader) error {
	text, err := io.ReadAll(r)
	s.box.got = append(s.box.got, string(text))
	return err
}

func (*mailSession) Reset()        {}
func (*mailSession) Logout() error { return nil }

// mailServer starts a server, and returns its address and the settings that trust it. With encrypted, it offers STARTTLS.
func mailServer(t *testing.T, box *mailbox, encrypted bool) (string, *tls.Config) {
	t.Helper()
	certified := httptest.NewUnstartedServer(nil)
	certified.StartTLS() // for its certificate of 127.0.0.1
	t.Cleanup(certified.Close)
	trusted := x509.NewCertPool()
	trusted.AddCert(certified.Certificate())
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	server := smtp.NewServer(box)
	server.AllowInsecureAuth = true
	if encrypted {
		server.TLSConfig = certified.TLS
	}
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(func() { _ = server.Close() })
	return listener.Addr().String(), &tls.Config{RootCAs: trusted, MinVersion: tls.VersionTLS12}
}

// mailer returns a service with a mail server.
func mailer(t *testing.T, in notice.Store, url string, trusted *tls.Config) *notice.Service {
	t.Helper()
	ring, err := credential.ParseRing(credential.NewKey())
	require.NoError(t, err)
	return notice.New(notice.Config{
		Interval: time.Millisecond, PageURL: func() string { return "https://omoi.example" },
		Mail: notice.Mail{URL: url, From: "omoi <omoi@omoi.example>", TLS: trusted},
	}, notice.Deps{Store: in, Ring: ring, Log: slog.New(slog.DiscardHandler)})
}

// mails sends the notice of a failed task by a mail server, and returns its outcome.
func mails(t *testing.T, inbox *mailbox, encrypted bool, account string) notice.Outcome {
	t.Helper()
	address, trusted := mailServer(t, inbox, encrypted)
	b := &box{}
	s := mailer(t, b, "smtp://"+account+"@"+address, trusted)
	rule := create(t, s, notice.ChannelEmail, notice.Address{URL: "alice@example.com"})
	require.Equal(t, "alice@example.com", rule.Receiver)
	b.due = []notice.Due{{ID: "d1", Event: notice.Failed, Body: facts(t), RuleID: rule.ID, OrganizationID: "org", Channel: notice.ChannelEmail, Sealed: rule.Sealed}}
	require.NoError(t, s.Send(t.Context()))
	require.NotContains(t, b.last.Error, "planted")
	return b.last
}

func TestSend_ByEmail(t *testing.T) {
	t.Parallel()
	for _, encrypted := range []bool{true, false} { // a server on this machine needs no encryption
		box := &mailbox{}
		o := mails(t, box, encrypted, "omoi:planted-password")
		require.Equal(t, explain.DeliveryDelivered, o.State, o.Error)
		require.Len(t, box.got, 1)
		got, err := mail.ReadMessage(strings.NewReader(box.got[0]))
		require.NoError(t, err)
		subject, err := new(mime.WordDecoder).DecodeHeader(got.Header.Get("Subject"))
		require.NoError(t, err)
		require.Equal(t, []string{"APP-12 failed: Fix <!channel> ö", "alice@example.com", "omoi <omoi@omoi.example>", "<d1@omoi.example>"},
			[]string{subject, got.Header.Get("To"), got.Header.Get("From"), got.Header.Get("Message-ID")})
		text, err := io.ReadAll(quotedprintable.NewReader(got.Body))
		require.NoError(t, err)
		require.Contains(t, string(text), "Next: omoi retry APP-12\r\nhttps://omoi.example/tasks/01a2")
		require.NotContains(t, string(text), "ghp_0123")
	}
}

func TestSend_ByEmailIsRefused(t *testing.T) {
	t.Parallel()
	require.Contains(t, mails(t, &mailbox{}, true, "omoi:planted-wrong").Error, "refused")
	require.Contains(t, mails(t, &mailbox{refuse: &smtp.SMTPError{Code: 450, Message: "try later"}}, true, "omoi:planted-password").Error, "try later")
}

func TestCreate_EmailNeedsAMailServer(t *testing.T) {
	t.Parallel()
	for url, to := range map[string]string{"": "alice@example.com", "smtp://127.0.0.1": "Alice <alice@example.com>", "smtp://127.0.0.2": "a@b\r\nBcc: c@d"} {
		_, err := mailer(t, &box{}, url, nil).Create(t.Context(), notice.NewRule{Rule: notice.Rule{Channel: notice.ChannelEmail}, Address: notice.Address{URL: to}})
		require.Equal(t, task.CodeInvalid, task.CodeOf(err), to)
	}
}
