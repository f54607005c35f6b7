package main

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strings"
)

// plainHTTP is net/http's client without any SDK. An operation is a method and a path, "POST /v1/refunds".
// Arguments: header (by name), body.
func plainHTTP(c call) answer {
	var args struct {
		Header map[string]string
		Body   string
	}
	if err := json.Unmarshal(c.Args, &args); err != nil {
		return wrong(err)
	}
	method, path, _ := strings.Cut(c.Op, " ")
	req, err := http.NewRequest(method, c.Base+path, bytes.NewReader([]byte(args.Body)))
	if err != nil {
		return wrong(err)
	}
	for k, v := range args.Header {
		req.Header.Set(k, v)
	}
	client := keep(c, func() *http.Client { return &http.Client{Transport: &http.Transport{}} })
	res, err := client.Do(req)
	if err != nil {
		return answer{Error: &failure{Type: "url.Error", Message: err.Error()}}
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		return answer{Error: &failure{Type: "read", Message: err.Error()}}
	}
	return answer{OK: map[string]any{"status": res.StatusCode, "body": string(body)}, Headers: lower(res.Header)}
}

func lower(h http.Header) map[string]string {
	all := map[string]string{}
	for k := range h {
		all[strings.ToLower(k)] = h.Get(k)
	}
	return all
}
