package links

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/sixthcopy/sixthcopy/bench"
)

// edgeAnswer renders the answer that a gateway in between would give instead of the real one. It carries
// no Date: virtual time is the provider's to tell. persistent says whether the connection is kept.
func edgeAnswer(method string, a bench.Action, persistent bool) []byte {
	status := a.Status
	if status == 0 {
		status = http.StatusBadGateway
	}
	var b strings.Builder
	fmt.Fprintf(&b, "HTTP/1.1 %d %s\r\n", status, http.StatusText(status))
	if !persistent {
		b.WriteString("Connection: close\r\n")
	}
	body := a.Body
	if status == http.StatusNoContent || status == http.StatusNotModified || status < 200 {
		body = ""
	} else {
		if kind := contentType(body); kind != "" {
			fmt.Fprintf(&b, "Content-Type: %s\r\n", kind)
		}
		fmt.Fprintf(&b, "Content-Length: %d\r\n", len(body))
	}
	b.WriteString("\r\n")
	if method != http.MethodHead {
		b.WriteString(body)
	}
	return []byte(b.String())
}

func contentType(body string) string {
	switch {
	case body == "":
		return ""
	case body[0] == '{' || body[0] == '[':
		return "application/json"
	case body[0] == '<':
		return "text/html; charset=utf-8"
	}
	return "text/plain; charset=utf-8"
}
