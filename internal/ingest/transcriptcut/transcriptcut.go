// Package transcriptcut shortens the last event of a legacy worker while it arrives: such a worker puts the whole transcript of its
// run into it, and sends it until it is acknowledged. It imports nothing else of omoi, since omoi-agent links it too.
package transcriptcut

import "bytes"

const transcriptKey = "transcript_b64"

// Cutter looks in a JSON object, as far as it has come, for the transcript of its event_data, of
// which it keeps the end.
type Cutter struct {
	body *bytes.Buffer
	most int // characters of a transcript that are kept

	at     int // up to here the body is looked at
	depth  int
	open   int  // where the string begins that is not closed yet; -1: none is
	odd    bool // it has escapes, as no base64 has
	named  bool // the last string is the transcript's key
	isNext bool // and a colon followed: the next string is the transcript
	inside bool // the open string is the transcript
	length int  // of the transcript, when it is closed
	cut    int64
}

// New returns a cutter of what arrives in body. Of a transcript about most characters are kept.
func New(body *bytes.Buffer, most int) *Cutter { return &Cutter{body: body, most: most, open: -1} }

// Cut is how many bytes of the transcript, its oldest, are left out.
func (l *Cutter) Cut() int64 { return l.cut }

// Kept is how much of the body is transcript, in characters.
func (l *Cutter) Kept() int {
	if l.inside && !l.odd {
		return l.at - l.open
	}
	return l.length
}

// Scan looks at what is new, shortens an open transcript and answers by how many characters.
func (l *Cutter) Scan() (less int64) {
	before := l.cut
	for b := l.body.Bytes(); l.at < len(b); b = l.body.Bytes() {
		if l.open < 0 {
			l.outside(b[l.at])
			l.at++
			continue
		}
		step := bytes.IndexAny(b[l.at:], `"\`)
		if step < 0 {
			l.at = len(b)
			break
		}
		l.at += step
		if b[l.at] == '\\' {
			if l.odd = true; l.at+1 == len(b) {
				break // what it escapes comes next
			}
			l.at += 2
			continue
		}
		l.close(string(b[l.open:min(l.at, l.open+len(transcriptKey)+1)]))
	}
	l.shorten(l.inside)
	const per, of = 3, 4 // bytes in characters of base64
	return (l.cut - before) / per * of
}

func (l *Cutter) outside(c byte) {
	switch c {
	case '{', '[':
		l.depth++
	case '}', ']':
		l.depth--
	case ':':
		l.isNext = l.named
	case ' ', '\t', '\r', '\n':
		return
	case '"':
		l.open, l.odd, l.inside = l.at+1, false, l.isNext
	}
	if c != ':' {
		l.isNext = false
	}
	l.named = l.named && c == ':'
}

func (l *Cutter) close(text string) {
	const inData = 2 // the depth of event_data
	l.shorten(l.inside)
	if l.inside && !l.odd {
		l.length = l.at - l.open
	}
	l.named = !l.inside && l.depth == inData && text == transcriptKey
	l.inside, l.open = false, -1
	l.at++
}

// shorten takes the oldest part out of a transcript that is too long, in whole groups of base64.
func (l *Cutter) shorten(transcript bool) {
	const group, bytesOf = 4, 3
	over := l.at - l.open - l.most
	if !transcript || l.odd || over <= 0 {
		return
	}
	groups := (over + group - 1) / group
	b := l.body.Bytes()
	l.body.Truncate(l.open + copy(b[l.open:], b[l.open+groups*group:]))
	l.at -= groups * group
	l.cut += int64(groups * bytesOf)
}
