package notice

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"mime"
	"mime/quotedprintable"
	"net"
	"net/mail"
	"net/smtp"
	"net/url"
	"strings"
	"time"
)

// Mail is the operator's mail server.
type Mail struct {
	// URL of the server: smtp://user:password@host:587, which has to offer STARTTLS unless it is on this machine, or smtps:// for a
	// connection that begins with TLS. Empty: no e-mail.
	URL  string
	From string
	TLS  *tls.Config // nil: the certificates of the system
}

// send sends a message in plain text. The ID is the same in every try, so that a mail program can drop repeats.
func (m Mail) send(ctx context.Context, to, id string, at time.Time, msg Message) error {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	server, err := url.Parse(m.URL)
	if err != nil || m.URL == "" {
		return errors.New("omoi has no mail server. Next: set notice.smtp_url")
	}
	c, err := m.connect(ctx, server)
	if err != nil {
		return fmt.Errorf("the mail server was not reached: %w", err)
	}
	defer func() { _ = c.Close() }()
	if err := m.deliver(c, server, to, m.text(to, id, at, msg)); err != nil {
		return fmt.Errorf("the mail server refused the e-mail: %w", err)
	}
	_ = c.Quit() // the server has accepted the e-mail
	return nil
}

// connect opens an encrypted connection.
func (m Mail) connect(ctx context.Context, server *url.URL) (*smtp.Client, error) {
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	if m.TLS != nil {
		config = m.TLS.Clone()
	}
	config.ServerName = server.Hostname()
	port, implicit := "587", server.Scheme == "smtps"
	if implicit {
		port = "465"
	}
	if server.Port() != "" {
		port = server.Port()
	}
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", net.JoinHostPort(server.Hostname(), port))
	if err != nil {
		return nil, err
	}
	if deadline, ok := ctx.Deadline(); ok {
		_ = conn.SetDeadline(deadline) // fails on a closed connection only
	}
	if implicit {
		conn = tls.Client(conn, config)
	}
	c, err := smtp.NewClient(conn, server.Hostname())
	if err == nil && !implicit {
		err = startTLS(c, conn, config)
	}
	if err != nil {
		_ = conn.Close()
	}
	return c, err
}

// startTLS encrypts a connection. A server on this machine needs no encryption.
func startTLS(c *smtp.Client, conn net.Conn, config *tls.Config) error {
	if offers, _ := c.Extension("STARTTLS"); offers {
		return c.StartTLS(config)
	}
	if to, ok := conn.RemoteAddr().(*net.TCPAddr); ok && to.IP.IsLoopback() {
		return nil
	}
	return errors.New("the server does not offer STARTTLS")
}

func (m Mail) deliver(c *smtp.Client, server *url.URL, to, text string) error {
	if password, ok := server.User.Password(); ok {
		if err := c.Auth(smtp.PlainAuth("", server.User.Username(), password, server.Hostname())); err != nil {
			return err
		}
	}
	from, err := mail.ParseAddress(m.From)
	if err != nil {
		return errors.New("notice.mail_from is not an e-mail address")
	}
	if err := c.Mail(from.Address); err != nil {
		return err
	}
	if err := c.Rcpt(to); err != nil {
		return err
	}
	w, err := c.Data()
	if err != nil {
		return err
	}
	_, err = w.Write([]byte(text))
	return errors.Join(err, w.Close())
}

// text returns the e-mail with its headers.
func (m Mail) text(to, id string, at time.Time, msg Message) string {
	_, domain, _ := strings.Cut(m.From, "@")
	subject := strings.Join(strings.Fields(msg.Title), " ")
	var text strings.Builder
	for _, header := range [][2]string{
		{"From", m.From},
		{"To", to},
		{"Subject", mime.QEncoding.Encode("utf-8", subject)},
		{"Date", at.Format(time.RFC1123Z)},
		{"Message-ID", "<" + id + "@" + strings.Trim(domain, "> ") + ">"},
		{"Auto-Submitted", "auto-generated"},
		{"MIME-Version", "1.0"},
		{"Content-Type", "text/plain; charset=utf-8"},
		{"Content-Transfer-Encoding", "quoted-printable"},
	} {
		text.WriteString(header[0] + ": " + header[1] + "\r\n")
	}
	text.WriteString("\r\n")
	body := quotedprintable.NewWriter(&text)
	_, _ = body.Write([]byte(msg.Text + "\n\nNext: " + msg.Next + "\n" + msg.URL + "\n")) // a builder accepts everything
	_ = body.Close()
	return text.String()
}
