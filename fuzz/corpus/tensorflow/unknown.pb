
,
xPlaceholder*
dtype0*
shape:
&
qQuantizedConv2Dxxxxxx

yReluq:2
"
d
DecodeJpegx*
channels

zCastd*

DstT0