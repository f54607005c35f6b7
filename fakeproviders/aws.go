package fakeproviders

import (
	"encoding/base64"
	"net/http"
	"strconv"
	"strings"

	"github.com/sixthcopy/sixthcopy/bench"
)

// What the AWS services have in common. One account owns everything; the region is that of the request's
// signature where it matters, which is not verified.

const (
	awsAccount = "123456789012"
	awsRegion  = "us-east-1"
)

// signedRegion is the region that a request was signed for; awsRegion if it was not signed.
// docs.aws.amazon.com/IAM/latest/UserGuide/create-signed-request.html: Credential=KEY/DATE/REGION/SERVICE/aws4_request.
func signedRegion(h http.Header) string {
	_, credential, ok := strings.Cut(h.Get("Authorization"), "Credential=")
	scope := strings.Split(credential, "/")
	if !ok || len(scope) < 5 || scope[2] == "" {
		return awsRegion
	}
	return scope[2]
}

// awsAnswer is an answer in AWS JSON 1.1.
func awsAnswer(status int, v any) answer {
	a := jsonAnswer(status, v)
	a.kind = "application/x-amz-json-1.1"
	return a
}

// awsRequestID sets the request id that AWS's SDKs show in errors and on results.
func awsRequestID(x *exchange, a *answer) {
	h := a.header.Clone() // an answer may be one that many requests are given
	if h == nil {
		h = http.Header{}
	}
	h.Set("X-Amzn-Requestid", requestUUID(x.name))
	a.header = h
}

// requestUUID is the id of a request in the form that AWS gives it.
func requestUUID(request string) string {
	d := digest(request)
	return strings.Join([]string{d[:8], d[8:12], d[12:16], d[16:20], d[20:32]}, "-")
}

// cutPage cuts the page that token names out of n things, at most size of them; next is the token of the page
// after it, "" if there is none. It is false for a token that was not given out.
func cutPage(n, size int, token string) (from, to int, next string, ok bool) {
	if token != "" {
		plain, err := base64.StdEncoding.DecodeString(token)
		if from, _ = strconv.Atoi(strings.TrimPrefix(string(plain), "from ")); err != nil || from <= 0 {
			return 0, 0, "", false
		}
	}
	from = min(from, n)
	to = min(from+size, n)
	if to < n {
		next = base64.StdEncoding.EncodeToString([]byte("from " + strconv.Itoa(to)))
	}
	return from, to, next, true
}

// asciiKey says what is wrong with a token of AWS's: more than limit characters, or one that is not
// printable ASCII; "" if nothing is.
func asciiKey(key string, limit int) string {
	if len(key) > limit {
		return "clientToken must be at most " + strconv.Itoa(limit) + " characters long."
	}
	if strings.ContainsFunc(key, func(r rune) bool { return r < 33 || r > 126 }) {
		return "clientToken must have ASCII characters in the range of 33-126 only."
	}
	return ""
}

// regionScoped is the scope of a token that is unique in a region, or in an attribute of the call.
type regionScoped struct{}

func (regionScoped) scoped(part string, r bench.RawRequest, c bench.Call) string {
	if part == "region" {
		return signedRegion(r.Header)
	}
	s, _ := c.Attrs[part].(string)
	return s
}
