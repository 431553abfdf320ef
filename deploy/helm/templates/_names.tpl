{{- /* All objects have the name of the release; `latchkey` if that is the release. */ -}}
{{- define "latchkey.selector" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "latchkey.metadata" -}}
name: {{ .Release.Name }}
labels:
  {{- include "latchkey.selector" . | nindent 2 }}
  app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
  app.kubernetes.io/managed-by: {{ .Release.Service }}
  helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version }}
{{- end -}}

{{- define "latchkey.host" -}}
{{- .Values.ingress.host | default (urlParse .Values.settings.PUBLIC_URL).hostname -}}
{{- end -}}

{{- /* toJson: a number of seven digits has no exponent there. */ -}}
{{- define "latchkey.settings" -}}
{{- range $name, $value := .Values.settings }}
{{ $name }}: {{ kindIs "string" $value | ternary $value (toJson $value) | quote }}
{{- end }}
{{- end -}}
